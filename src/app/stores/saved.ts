/** Small preferences of the user, stored between visits under a versioned key. */
const KEY = "sa2va-lab/1";

type Saved = Readonly<Record<string, unknown>>;

function readAll(): Saved {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return typeof value === "object" && value !== null ? (value as Saved) : {};
  } catch {
    // Storage may be refused or hold an older format: the defaults apply.
    return {};
  }
}

/** The stored value if `accepts` returns true for it, else the fallback. */
export function remembered<T>(name: string, fallback: T, accepts: (value: unknown) => value is T): T {
  const value = readAll()[name];
  return accepts(value) ? value : fallback;
}

/** A stored yes or no. */
export function rememberedFlag(name: string, fallback: boolean): boolean {
  return remembered(name, fallback, (value) => typeof value === "boolean");
}

/** Stores a JSON value; without storage the value lasts until the page closes. */
export function remember(name: string, value: unknown): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...readAll(), [name]: value }));
  } catch {
    // Private windows refuse storage; it is optional.
  }
}
