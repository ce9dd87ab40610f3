// What scripts of pages ask: estimate, explain and presets. Engines speak JSON.
import { load } from "./engine.js";

// answers makes the functions of ask(question, ...arguments), which resolves to
// what an engine says. An error keeps its code and the place it names.
export function answers(ask) {
  return {
    async estimate(request = {}) {
      const answer = await ask("estimate", JSON.stringify(request));
      if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
      return answer.result;
    },
    async explain(text, { language = "fr" } = {}) {
      return ask("explain", `${text}`, language);
    },
    async presets() {
      return ask("presets");
    },
  };
}

// wholeEngine is a function that resolves to the functions of the engine below
// the address root, which is loaded once, when it is first needed. Go must be
// defined by then; started is its download, if load is not to start it, and
// around calls what runs a program.
export function wholeEngine(root, { started, around = (run) => run() } = {}) {
  let loading;
  const start = async () => {
    const go = new Go();
    const instance = await load(root, ENGINE, go.importObject, { started: started?.() });
    return new Promise((resolve, reject) => {
      globalThis.vrametreEngine = (functions) => {
        delete globalThis.vrametreEngine;
        resolve(functions);
      };
      around(() => go.run(instance)).catch(reject); // it ends by a panic only
    });
  };
  return () => {
    loading ??= start().catch((failure) => {
      loading = undefined; // another question may try again
      throw unavailable(failure);
    });
    return loading;
  };
}

export function unavailable(failure) {
  return Object.assign(new Error(`the engine is not running: ${failure.message}`), { code: "engine-unavailable", cause: failure });
}
