/** The user's name for a checkpoint on a server: the address of a folder, or a repository of a model hub. */
import { badInput, plainLine, quote } from "../../engine/errors.ts";

export interface RemoteAddress {
  /** Base address of the files, ending with a slash. */
  readonly baseUrl: string;
  /** Name of the model on screen. */
  readonly name: string;
  /** Where a hub lists the files of the repository; null for a plain folder. */
  readonly listUrl: string | null;
}

/** A part of a repository's name, and a branch, tag or commit. */
const PART = "[A-Za-z0-9][\\w.-]*";
const REPOSITORY = new RegExp(`^(${PART}/${PART})(?:@([\\w.-]+(?:/[\\w.-]+)*))?$`);
const PAGE = new RegExp(`^/(${PART}/${PART})(?:/(?:tree|resolve)/([^/]+))?/?$`);
const DEFAULT_REVISION = "main";

/** Whether a text is the name of a repository, for which a hub is contacted. */
export function namesRepository(text: string): boolean {
  return REPOSITORY.test(text.trim());
}

/**
 * @param text an address, or `owner/name` or `owner/name@revision` of a hub; the address of a repository's page also
 * works
 * @param hub base address of the hub, or ""
 * @param plainHttp where http without TLS is allowed: for pages on this machine only, for tools anywhere
 * @throws LabError("bad-input") when the text is neither, or contains a password or a query
 */
export function remoteAddress(text: string, hub: string, plainHttp: "local" | "any" = "local"): RemoteAddress {
  const typed = text.trim();
  const named = REPOSITORY.exec(typed);
  if (named !== null) {
    if (hub.trim() === "") {
      throw badInput(`${quote(typed)} is a repository's name; give the address of its hub too`, typed);
    }
    return repository(checked(hub, plainHttp), named[1] as string, named[2] ?? DEFAULT_REVISION);
  }
  const url = checked(typed, plainHttp);
  const host = hub.trim() === "" ? null : checked(hub, plainHttp);
  const page = host !== null && host.origin === url.origin ? PAGE.exec(url.pathname) : null;
  if (host !== null && page !== null) {
    return repository(host, page[1] as string, decoded(page[2] ?? DEFAULT_REVISION));
  }
  const baseUrl = url.href.endsWith("/") ? url.href : `${url.href}/`;
  const last = url.pathname
    .split("/")
    .filter((part) => part !== "")
    .at(-1);
  return { baseUrl, name: last === undefined ? url.host : decoded(last), listUrl: null };
}

/** A decoded part of an address for display; unchanged if its escapes are invalid. */
function decoded(part: string): string {
  try {
    return plainLine(decodeURIComponent(part));
  } catch (thrown) {
    if (thrown instanceof URIError) return part;
    throw thrown;
  }
}

function repository(hub: URL, name: string, revision: string): RemoteAddress {
  const base = hub.href.replace(/\/+$/, "");
  const at = encodeURIComponent(revision);
  return {
    baseUrl: `${base}/${name}/resolve/${at}/`,
    name: name.slice(name.indexOf("/") + 1) + (revision === DEFAULT_REVISION ? "" : `@${revision}`),
    listUrl: `${base}/api/models/${name}/tree/${at}`,
  };
}

function checked(text: string, plainHttp: "local" | "any"): URL {
  const refuse = (why: string): never => {
    throw badInput(`${quote(text.trim())} cannot be opened: ${why}; nothing was fetched`, text.trim());
  };
  if (!URL.canParse(text.trim())) refuse("it is neither a web address nor a repository's name such as owner/name");
  const url = new URL(text.trim());
  const local = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname) || url.hostname.endsWith(".localhost");
  if (url.protocol !== "https:" && url.protocol !== "http:") refuse(`it begins with ${url.protocol}`);
  if (url.protocol === "http:" && plainHttp === "local" && !local) {
    refuse("without https a page can reach only this machine");
  }
  if (url.username !== "" || url.password !== "")
    refuse("it contains a name or password, which would be stored with it");
  if (url.search !== "") refuse("its query, after the question mark, cannot be sent with every file");
  url.hash = "";
  return url;
}
