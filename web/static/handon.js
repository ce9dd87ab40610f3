// handOn hands the settings of the reader's address on, where no program does.
export function handOn() {
  const { hash } = location;
  for (const link of document.querySelectorAll("[data-lang-switch]")) link.hash = hash;
  // A section of this page is none of another.
  if (hash.includes("=")) for (const link of document.querySelectorAll("[data-state-link]")) link.hash = hash;
}
