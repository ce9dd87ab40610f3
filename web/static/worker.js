// Keeps the whole site, so that every page opens offline. The build puts the
// list of files, with the hash of each, before this script.
import { setCacheNameDetails } from "workbox-core";
import { precacheAndRoute } from "workbox-precaching";

// The cache's name ends with the worker's scope: two copies of the site on one
// host, or another application, never meet.
setCacheNameDetails({ prefix: "vrametre", suffix: registration.scope });

const pages = new Set(self.precached.map(({ url }) => new URL(url, registration.scope).pathname));

// A page is a folder: without its slash, the relative addresses in it would break.
self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.mode !== "navigate" || url.origin !== location.origin) return;
  if (!pages.has(url.pathname) && pages.has(`${url.pathname}/`)) {
    url.pathname += "/";
    event.respondWith(Response.redirect(url));
  }
});

precacheAndRoute(self.precached, {
  ignoreURLParametersMatching: [/^/],
  directoryIndex: "",
  cleanURLs: false,
  urlManipulation: ({ url }) => (url.pathname.endsWith("/index.html") ? [new URL("./", url)] : []),
});

// A new version waits until the reader of the old one agrees.
self.addEventListener("message", (event) => {
  if (event.data === "take-over") self.skipWaiting();
});
