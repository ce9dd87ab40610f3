// Registers the worker that keeps the site for offline use, and asks the
// reader before a new version replaces the one on screen.
import { banner } from "./banner.js";

export async function register(root) {
  // Without storage the registration is refused, noisily.
  if (self.origin === "null" || !("serviceWorker" in navigator) || !navigator.cookieEnabled) return;
  const { serviceWorker } = navigator;
  const controlled = serviceWorker.controller !== null;
  let reloading = false;
  const reload = () => {
    if (reloading) return;
    reloading = true;
    window.dispatchEvent(new Event("vrametre:leave")); // the state goes into the address
    location.reload();
  };

  let consented = false;
  serviceWorker.addEventListener("controllerchange", () => {
    if (consented) reload();
    else if (controlled) banner("update", { reload }); // another tab has consented
  });

  let registration;
  try {
    registration = await serviceWorker.register(new URL("worker.js", root), { scope: root, updateViaCache: "none" });
  } catch (refused) {
    console.warn(refused);
    return;
  }
  const offer = () => {
    const { waiting } = registration;
    if (!waiting || !registration.active) return;
    banner("update", {
      reload() {
        consented = true;
        waiting.postMessage("take-over");
      },
    });
  };
  registration.addEventListener("updatefound", () => {
    const { installing } = registration;
    installing.addEventListener("statechange", () => {
      if (installing.state === "installed") offer();
    });
  });
  offer();
}
