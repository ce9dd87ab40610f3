// The engine without a page, for pages and programs of others:
//
//   import { estimate, explain, presets } from ".../vrametre.js";
//
// Their types are in vrametre.d.ts. Nothing is loaded before the first question.
import { hide, lent } from "./globals.js"; // before Go's
import "go-runtime"; // defines Go
import { answers, said, wholeEngine } from "./answers.js";

hide();

const root = new URL(".", import.meta.url);

const engine = wholeEngine(root, { started: () => download(new URL(ENGINE.compressed, root)), around: lent });

// Node imports modules from files and fetches none.
async function download(address) {
  if (address.protocol !== "file:") return fetch(address);
  const { readFile } = await import("node:fs/promises");
  return new Response(await readFile(address));
}

const own = answers(async (question, ...args) => said(await engine(), question, args));

// A page may hold this module from a cache when the engine that it names is gone
// from the site: the module of today, under an address that no cache knows, names
// the one of today.
let newer;

const lasting = (name) => async (...args) => {
  try {
    return await own[name](...args);
  } catch (failure) {
    if (!failure.cause?.missing || import.meta.url.includes("?")) throw failure;
    newer ??= import(`${new URL("vrametre.js", root)}?${Date.now()}`).catch(() => {
      newer = undefined;
      throw failure;
    });
    return (await newer)[name](...args);
  }
};

export const estimate = lasting("estimate");
export const explain = lasting("explain");
export const presets = lasting("presets");
