// A page that is only read runs no program. It keeps the site for offline use
// all the same, and hands the settings of the reader's address on.
import { register } from "./register.js";

const root = new URL(".", document.currentScript.src);
const { hash } = location;

for (const link of document.querySelectorAll("[data-lang-switch]")) link.hash = hash;
// A section of this page is none of another.
if (hash.includes("=")) for (const link of document.querySelectorAll("[data-state-link]")) link.hash = hash;

register(root);
document.body.dataset.ready = "";
