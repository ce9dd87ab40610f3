// Starts the edition in one file. All that pages load lies in it, compressed, in
// scripts of a kind that no browser runs, by the names that the site gives it.
import { gunzip } from "./gunzip.js";
import { handOn } from "./handon.js";

const held = new Map([...document.querySelectorAll("script[data-file]")].map((script) => [script.dataset.file, script.textContent]));

const packed = (name) => new Response(Uint8Array.from(atob(held.get(name)), (c) => c.charCodeAt(0)));
const unpacked = (name) => new Response(packed(name).body.pipeThrough(gunzip())).text();

// The page's scripts are let in by the policy, which names their hashes.
self.vrametreScript = async (name) => {
  const script = document.createElement("script");
  script.textContent = await unpacked(name);
  document.body.append(script);
  script.remove();
};

(async () => {
  const page = location.search.slice(1);
  if (held.has(page)) {
    const other = new DOMParser().parseFromString(await unpacked(page), "text/html");
    document.title = other.title;
    document.documentElement.lang = other.documentElement.lang;
    document.body.replaceWith(other.body);
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }
  if (!document.querySelector("[data-island]")) {
    handOn();
    return; // nothing moves there
  }
  self.vrametrePage = Promise.resolve(packed(MODULE));
  await self.vrametreScript(BOOT);
})();
