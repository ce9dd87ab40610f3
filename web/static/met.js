// The tank fills as the reader goes: a kind of memory takes its colour where its
// section begins, and pales again above it. As with a link to a section, the
// place on the page alone says what is met.
export function met() {
  const sections = [...document.querySelectorAll("[data-meets]")];
  const reached = new Set();
  const watch = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) reached[isIntersecting ? "add" : "delete"](target);
      document.body.dataset.met = [...reached].map((section) => section.dataset.meets).join(" ");
    },
    { rootMargin: "9999999px 0px -35%" }, // what is above the window stays met, however far
  );
  for (const section of sections) watch.observe(section);
}
