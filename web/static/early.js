// Starts the engine's download while the page is still being parsed; boot.js
// takes this very response. A preload link would do the same in two engines of
// three: WebKit downloads the file a second time. Files and frames of an opaque
// origin may not fetch.
if (self.origin !== "null") {
  self.vrametreEngine = fetch(new URL(WASM_GZ, document.currentScript.src));
  self.vrametreEngine.catch(() => {}); // boot.js tells the reader
}
