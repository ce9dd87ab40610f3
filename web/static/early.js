// Starts the download of the page's program while the page is still being parsed; boot.js
// takes this very response. A preload link would do the same in two engines of
// three: WebKit downloads the file a second time. Files and frames of an opaque
// origin may not fetch.
if (self.origin !== "null") {
  self.vrametrePage = fetch(new URL(PROGRAMS[document.documentElement.dataset.program], document.currentScript.src));
  self.vrametrePage.catch(() => {}); // boot.js tells the reader
}
