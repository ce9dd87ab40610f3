// What scripts of pages ask: estimate, explain and presets. Engines speak JSON.
import { load } from "./engine.js";

// answers makes the functions of ask(question, ...arguments), which resolves to
// what an engine says. An error keeps its code and the place it names.
export function answers(ask) {
  return {
    async estimate(request = {}) {
      const { text, cause } = written(request);
      const answer = await ask("estimate", text);
      if (answer.error) throw Object.assign(new Error(answer.error.message, { cause }), answer.error);
      return answer.result;
    },
    async explain(text, options) {
      return ask("explain", typeof text === "string" ? text : "", `${options?.language ?? "fr"}`);
    },
    async presets() {
      return ask("presets");
    },
  };
}

// written is a request in JSON. What JSON has no form for goes as a text, which
// the engine refuses at its place and in the request's language; JSON itself
// would leave it out, and the answer would be to another question. A request that
// cannot be read at all is none; the cause goes with the engine's refusal.
function written(request) {
  const above = [];
  try {
    return {
      text: JSON.stringify(request, function (_, value) {
        while (above.length && above.at(-1) !== this) above.pop();
        switch (typeof value) {
          case "number":
            return Number.isFinite(value) ? value : `${value}`;
          case "bigint":
            return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`;
          case "symbol":
          case "function":
            return String(value);
          case "object":
            if (value === null) return value;
            // An answer that was not awaited, and collections, have no fields.
            if (/^\[object (Promise|Map|Set)\]$/.test(Object.prototype.toString.call(value))) return String(value);
            if (above.includes(value)) return "[Circular]";
            above.push(value);
        }
        return value;
      }),
    };
  } catch (cause) {
    return { text: "null", cause };
  }
}

// said is what an engine says to a question.
export function said(engine, question, args) {
  try {
    return JSON.parse(engine[question](...args));
  } catch (failure) {
    throw unavailable(failure); // it has ended
  }
}

// wholeEngine is a function that resolves to the functions of the engine below
// the address root, which is loaded when it is first needed, and again after it
// has ended. Go must be defined by then; started is its download, if load is not
// to start it, and around calls what runs a program.
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
      const ended = () => {
        loading = undefined; // another question may try again
        reject(new Error("it has ended"));
      };
      around(() => go.run(instance)).then(ended, ended); // by a panic only
    });
  };
  return () => {
    loading ??= start().catch((failure) => {
      loading = undefined;
      throw unavailable(failure);
    });
    return loading;
  };
}

export function unavailable(failure) {
  return Object.assign(new Error(`the engine is not running: ${failure.message}`), { code: "engine-unavailable", cause: failure });
}
