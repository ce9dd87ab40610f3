// The engine without a page, for pages and programs of others:
//
//   import { estimate, explain, presets } from ".../vrametre.js";
//
// Their types are in vrametre.d.ts. Nothing is loaded before the first question.
import { hide, lent } from "./globals.js"; // before Go's
import "go-runtime"; // defines Go
import { answers, wholeEngine } from "./answers.js";

hide();

const root = new URL(".", import.meta.url);

const engine = wholeEngine(root, { started: () => download(new URL(ENGINE.compressed, root)), around: lent });

// Node imports modules from files and fetches none.
async function download(address) {
  if (address.protocol !== "file:") return fetch(address);
  const { readFile } = await import("node:fs/promises");
  return new Response(await readFile(address));
}

export const { estimate, explain, presets } = answers(async (question, ...args) => JSON.parse((await engine())[question](...args)));
