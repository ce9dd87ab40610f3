// Starts the download of the page's program while the page is still being
// parsed; boot.js takes this very response. A preload link would do the same in
// two engines of three: WebKit downloads the file a second time.
import { started } from "./started.js";

started(new URL(".", document.currentScript.src), PROGRAMS[document.documentElement.dataset.program]);
