/** The lab inside another page: hosts with headers forbid it, and on hosts without them the page refuses itself. */
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { type OpenPage, openPage } from "../support/page.ts";

const TYPES: Readonly<Record<string, string>> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
let lab: OpenPage;
let bare: Server;
let outer: Server;

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
const addressOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

beforeAll(async () => {
  lab = await openPage({ screen: "setup" });
  // The built page served by a host that sends no security headers.
  bare = await listening(
    createServer((request, response) => {
      const path = new URL(request.url ?? "/", "http://x").pathname;
      const file = join(root, "dist", path === "/" ? "index.html" : path);
      readFile(file).then(
        (bytes) =>
          response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" }).end(bytes),
        () => response.writeHead(404).end(),
      );
    }),
  );
  outer = await listening(
    createServer((request, response) => {
      const inner = new URL(request.url ?? "/", "http://x").searchParams.get("inner") ?? "";
      response
        .writeHead(200, { "Content-Type": "text/html" })
        .end(`<iframe src="${inner}" width="900" height="600"></iframe>`);
    }),
  );
});
afterAll(async () => {
  await lab.close();
  bare.close();
  outer.close();
});

const framed = async (inner: string): Promise<void> => {
  await lab.page.goto(`${addressOf(outer)}?inner=${encodeURIComponent(inner)}`);
};

describe("the lab in a frame", () => {
  it("is forbidden by a header where the host sends them", async () => {
    const { headers } = await fetch(lab.url);
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    await framed(lab.url);
    await expect.poll(() => lab.consoleErrors.join()).toMatch(/frame-ancestors|X-Frame-Options/i);
    await expect.poll(() => lab.page.frameLocator("iframe").getByTestId("strip-start").count()).toBe(0);
  });

  it("shows nothing but a way out where the host sends none", async () => {
    await framed(addressOf(bare));
    const inside = lab.page.frameLocator("iframe");
    await inside.getByRole("link", { name: /^Open sa2va-lab in a new tab/ }).waitFor();
    await expect.poll(() => inside.locator("button").count()).toBe(0);
    await lab.page.goto(addressOf(bare));
    await lab.page.getByTestId("strip-start").waitFor();
  });
});
