// A page that is only read runs no program. It keeps the site for offline use
// all the same, and hands the settings of the reader's address on.
import { handOn } from "./handon.js";
import { register } from "./register.js";

const root = new URL(".", document.currentScript.src);

handOn();
register(root);
document.body.dataset.ready = "";
