// A state in an address's fragment: pairs of keys and values, the version first.

export function read(fragment) {
  const pairs = new Map();
  for (const pair of fragment.replace(/^#/, "").split("&")) {
    const at = pair.indexOf("=");
    if (at > 0) pairs.set(pair.slice(0, at), pair.slice(at + 1));
  }
  return pairs;
}

export function write(pairs) {
  return [["v", "1"], ...[...pairs].filter(([key]) => key !== "v")].map((pair) => pair.join("=")).join("&");
}

// given reads what a program hands over: a fragment, or an object of plain values.
export function given(state) {
  if (typeof state === "string") return read(state);
  return new Map(Object.entries(state ?? {}).map(([key, value]) => [plain(key), plain(value)]));
}

// plain is a value as it stands in a fragment; what has no text is empty.
export function plain(value) {
  try {
    return encodeURI(`${value}`).replace(/[&#]/g, encodeURIComponent);
  } catch {
    return "";
  }
}
