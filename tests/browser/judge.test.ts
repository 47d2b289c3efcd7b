/** The judge in the real page: tried out and used in training; afterwards its key is searched for everywhere. */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { unzipSync } from "fflate";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type JudgeServer, judgeServer } from "../support/judge-server.ts";
import {
  CHEAP_RUN,
  type OpenPage,
  openFollowed,
  problems,
  type RunEvent,
  saveExport,
  show,
  untilEvent,
  untilReady,
} from "../support/page.ts";

const KEY = `zk-recognisable-${"0123456789abcdef"}`;
let lab: OpenPage;
let judge: JudgeServer;
let mute: Server;
let events: RunEvent[];
/** Addresses of every request of page and workers, and all console messages. */
const seen: string[] = [];

beforeAll(async () => {
  judge = await judgeServer(["reader-1", "reader-2"]);
  // A server that answers, but whose answers no page may read.
  mute = createServer((_, response) => void response.writeHead(200).end("{}"));
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  const settings = { screen: "rewards", ...CHEAP_RUN, loops: "2", judgeRetries: "0" };
  ({ lab, events } = await openFollowed(settings, {}, async (page) => {
    page.context().on("request", (request) => seen.push(request.url(), JSON.stringify(request.postData() ?? "")));
    page.context().on("console", (message) => seen.push(message.text()));
    await page.addInitScript(
      `addEventListener("lab:trainer", ({ detail }) => { (globalThis.told ??= []).push(JSON.stringify(detail)) })`,
    );
  }));
});
afterAll(async () => {
  await lab.close();
  await judge.close();
  mute.close();
});

/** Names and values of the list of facts below an element. */
async function facts(place: Locator): Promise<Record<string, string>> {
  const [names, values] = [await place.locator("dt").allTextContents(), await place.locator("dd").allTextContents()];
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? ""]));
}

const pressTest = async (): Promise<void> => {
  await lab.page.getByTestId("judge-test").click();
  await lab.page.getByTestId("judge-result").or(lab.page.getByTestId("judge-problem")).first().waitFor();
};

describe("the judge on Rewards", () => {
  it("is hidden until it is asked for, by a button or an address of the screen that it once was", async () => {
    const { page } = lab;
    await page.getByTestId("show-judge").waitFor();
    expect(await page.getByTestId("judge").count()).toBe(0);
    await page.evaluate(`location.hash = "#screen=judge"`);
    await page.getByTestId("judge").waitFor();
    await page.locator("main[data-screen=rewards]").waitFor();
    expect(await problems(page)).toEqual([]);
    await page.goBack();
    await page.getByTestId("show-judge").click();
    await page.getByTestId("judge").waitFor();
  });

  it("tests a server on three pairs with scores, latency and raw replies", async () => {
    const { page } = lab;
    await page.getByTestId("judge-kind").selectOption("questions");
    await page.getByTestId("judge-url").fill(judge.url);
    await page.getByTestId("judge-key").fill(KEY);
    await page.getByTestId("judge-key-use").click();
    await expect.poll(() => page.getByTestId("judge-key").inputValue()).toBe("");
    await expect.poll(() => page.getByTestId("judge-key-state").textContent()).toMatch(/A key is set/);
    await pressTest();
    const cells = (name: string): Promise<string[]> =>
      page.getByTestId(`judge-pair-${name}`).locator("td").allTextContents();
    await expect.poll(() => cells("same")).toEqual([expect.any(String), "1.000", expect.stringMatching(/^\d+ ms$/)]);
    await expect.poll(() => cells("wrong")).toEqual([expect.any(String), "0.000", expect.stringMatching(/^\d+ ms$/)]);
    await page.getByTestId("judge-result").getByText("In order", { exact: true }).waitFor();
    expect(judge.calls.every((call) => call.headers.authorization === `Bearer ${KEY}`)).toBe(true);
  });

  it("lists the models of its server, and forgets them with its address", async () => {
    const { page } = lab;
    const listed = page.getByText(/^Models: /);
    await page.getByRole("button", { name: "List models" }).click();
    await expect.poll(() => listed.allTextContents()).toEqual(["Models: reader-1, reader-2"]);
    await page.getByTestId("judge-url").fill("http://localhost:9/v1");
    await expect.poll(() => listed.count()).toBe(0);
    await page.getByTestId("judge-url").fill(judge.url);
  });

  it("judges a pair of the user by keyboard, with answers, raw replies and the prompts that were sent", async () => {
    const { page } = lab;
    const button = page.getByTestId("judge-pair");
    await expect.poll(() => button.getAttribute("title")).toBe("Enter the reference first");
    await page.getByTestId("pair-reference").focus();
    await page.keyboard.type("a shiny red car");
    await page.keyboard.press("Tab");
    await page.keyboard.type("a red car");
    judge.forget();
    await page.keyboard.press("Control+Enter");
    const newest = page.getByTestId("pair-verdict").first();
    await newest.waitFor();
    // Two of shiny, red and car are there, and none of the two things that should not be.
    await expect.poll(() => newest.locator("summary").first().locator("b").textContent()).toBe("0.800");
    await newest.getByText("a shiny red car", { exact: true }).waitFor();
    await expect
      .poll(() => facts(newest))
      .toMatchObject({
        "Positive questions": "0.667",
        "Negative questions": "1.000",
        Object: "recognised",
        Latency: expect.stringMatching(/^\d+ ms$/),
      });
    const text = (await newest.textContent()) ?? "";
    for (const part of ["4.00 points / 5 questions", "2 calls", "Raw replies", '"attributes"']) {
      expect(text).toContain(part);
    }
    const sent = judge.calls.map(({ body }) => body.messages[0]?.content ?? "");
    expect(sent).toHaveLength(2);
    await newest.getByText("2 prompts").click();
    for (const prompt of sent) await newest.getByText(prompt, { exact: true }).waitFor();
    // The fixed pairs stay, and a second pair opens above the first, which closes.
    await expect.poll(() => page.getByTestId("judge-pair-same").count()).toBe(1);
    await page.getByTestId("pair-hypothesis").fill("a blue boat");
    await page.getByTestId("judge-pair").click();
    await expect.poll(() => page.getByTestId("pair-verdict").count()).toBe(2);
    await expect.poll(() => newest.locator("summary").first().locator("b").textContent()).toBe("0.000");
    await expect.poll(() => newest.locator("summary").first().locator("span").last().textContent()).toBe("a blue boat");
    await expect.poll(() => facts(newest)).toMatchObject({ Object: "not recognised" });
    await expect.poll(() => page.locator("[data-testid=pair-verdict][open]").count()).toBe(1);
    await expect.poll(() => newest.getAttribute("open")).toBe("");
    judge.script(() => ({ status: 500 }));
    await page.getByTestId("judge-pair").click();
    await page.getByTestId("pair-diagnosis").waitFor();
    await expect.poll(() => newest.locator("summary").first().locator("b").textContent()).toBe("missing");
    await expect.poll(() => newest.textContent()).toMatch(/The server failed.*scripted 500/);
    judge.script(() => "good");
    await page.getByTestId("judge").getByRole("button", { name: "Clear", exact: true }).click();
    await expect.poll(() => page.getByTestId("pair-verdicts").count()).toBe(0);
  });

  it("ends a pair that hangs when told, and says nothing of it", async () => {
    const { page } = lab;
    judge.forget();
    judge.script(() => "hang");
    await page.getByTestId("judge-pair").click();
    await expect.poll(() => judge.calls.length).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Stop", exact: true }).last().click();
    await page.getByTestId("judge-pair").waitFor();
    await expect.poll(() => page.getByTestId("pair-problem").count()).toBe(0);
    judge.script(() => "good");
  });

  it("says what is wrong: a key refused, a reply that is no JSON, CORS, nothing there, an address with a key", async () => {
    const { page } = lab;
    const diagnosis = async (): Promise<string> => {
      await pressTest();
      return (await page.getByTestId("judge-diagnosis").textContent()) ?? "";
    };
    judge.script((_, { headers }) => ({ status: 401, body: `no: ${headers.authorization}` }));
    expect(await diagnosis()).toMatch(/Key refused.*Bearer \[key\]/);
    judge.script(() => ({ reply: "I like it" }));
    expect(await diagnosis()).toMatch(/Not JSON/);
    judge.script(() => ({ status: 404 }));
    expect(await diagnosis()).toMatch(/No such model/);
    judge.script(() => "good");
    await page.getByTestId("judge-url").fill(`http://127.0.0.1:${(mute.address() as AddressInfo).port}`);
    expect(await diagnosis()).toMatch(/CORS refused.*Access-Control-Allow-Origin: http:\/\/localhost/);
    await page.getByTestId("judge-url").fill("http://127.0.0.1:9");
    expect(await diagnosis()).toMatch(/Nothing answers/);
    await page.getByTestId("judge-url").fill("http://192.168.7.7:8000");
    expect(await diagnosis()).toMatch(/Address not allowed/);
    await page.getByTestId("judge-url").fill("https://judge.example/v1?api_key=zk-typed-into-the-address");
    await expect.poll(() => page.getByTestId("judge-url-help").textContent()).toMatch(/looks like a key/);
    expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain("zk-typed");
    await page.getByTestId("judge-url").fill(judge.url);
  });

  it("shows how steady the judge is", async () => {
    const { page } = lab;
    await page.getByTestId("judge-calibrate").click();
    const result = page.getByTestId("calibration-result");
    await result.waitFor();
    await expect.poll(() => facts(result)).toMatchObject({ "Spread within a pair": "0.000" });
    await expect.poll(() => result.locator("tbody tr").count()).toBeGreaterThan(2);
  });

  it("hashes the prompts and refuses one without its placeholders", async () => {
    const { page } = lab;
    const version = page.getByTestId("prompt-version");
    const before = await version.textContent();
    await page.locator("summary", { hasText: "Answers from the prediction" }).click();
    const text = page.getByTestId("prompt-answers");
    await text.fill("Answer {{questions}} about {{caption}}, and say nothing else.");
    await expect.poll(() => version.textContent()).not.toBe(before);
    await text.fill("Answer!");
    await expect
      .poll(() => page.getByTestId("prompt-problem").textContent())
      .toMatch(/lacks \{\{caption\}\} and \{\{questions\}\}/);
    await page.getByRole("button", { name: "Restore the built-in prompt" }).last().click();
    await expect.poll(() => version.textContent()).toBe(before);
  });
});

describe("a run with the judge", () => {
  it("is scored by it, and the reward tab shows its questions", async () => {
    const { page } = lab;
    await show(page, { screen: "rewards" });
    judge.forget();
    const from = events.length;
    await page.getByTestId("strip-start").click();
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "running");
    await show(page, { screen: "rewards" });
    const step = await untilEvent(events, from, (event) => event.type === "step");
    expect(step.metrics).toMatchObject({ "judge/failures": 0, "loop2/reward_missing": 0 });
    expect(step.metrics?.["judge/verdicts"]).toBeGreaterThan(0);
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
    // Both steps were viewed on this screen as they ran; neither before its file was written.
    expect((await problems(page)).filter((text) => /rollouts/.test(text))).toEqual([]);
    await show(page, { screen: "train", tab: "rollouts", step: "1" });
    await page
      .getByLabel("Groups of this step")
      .getByRole("button", { name: /^Loop 2/ })
      .first()
      .click();
    await page.getByTestId("rollout-card").first().getByRole("button").click();
    const inspector = page.getByTestId("inspector");
    await inspector.getByText("How the reward came about").click();
    await expect.poll(() => inspector.textContent()).toMatch(/Judge.*Is it likely that the description is about/s);
  });

  it("leaves its key in no file, address, message, storage, page or log", async () => {
    const { page } = lab;
    await show(page, { screen: "runs" });
    const download = await saveExport(page);
    const files = unzipSync(new Uint8Array(readFileSync(await download.path())));
    expect(Object.keys(files).map((name) => name.split("/").at(-1))).toEqual(
      expect.arrayContaining(["judge.json", "run.json", "step-000001.arrow"]),
    );
    const places: Record<string, string> = Object.fromEntries(
      Object.entries(files).map(([name, bytes]) => [name, Buffer.from(bytes).toString("latin1")]),
    );
    places.requests = seen.join("\n");
    places.calls = judge.calls.map((call) => call.path + call.text).join("\n");
    places.address = page.url();
    places.console = lab.consoleErrors.join("\n");
    places.storage = await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })");
    places.messages = await page.evaluate("(globalThis.told ?? []).join()");
    places.page = await page.content();
    // Everything below the origin's private file system, including the judge's cache. Files are written under a
    // temporary name first, so one may have disappeared when it is read; then all are read again.
    places.disk = await page.evaluate(`(async () => {
      const read = async (folder, path, texts) => {
        for await (const [name, handle] of folder.entries()) {
          texts.push(path + name);
          if (handle.kind === "directory") await read(handle, path + name + "/", texts);
          else texts.push(await (await handle.getFile()).text());
        }
        return texts;
      };
      const top = await navigator.storage.getDirectory();
      for (let attempt = 1; ; attempt++) {
        try {
          return (await read(top, "", [])).join("\\n");
        } catch (thrown) {
          if (thrown.name !== "NotFoundError" || attempt === 20) throw thrown;
        }
      }
    })()`);
    expect(places.disk).toContain("replies.jsonl");
    expect(places.messages?.length).toBeGreaterThan(1000);
    expect(Object.entries(places).filter(([, text]) => text.includes(KEY) || text.includes("recognisable"))).toEqual(
      [],
    );
  });

  it("asks nothing when the same run is done again", async () => {
    const { page } = lab;
    judge.forget();
    const from = events.length;
    await page.getByTestId("strip-start").click();
    const step = await untilEvent(events, from, (event) => event.type === "step");
    expect(step.metrics?.["judge/calls"]).toBe(0);
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
    expect(judge.calls).toHaveLength(0);
  });
});

describe("the bench of rewards", () => {
  it("asks the judge when told, about every rollout once", async () => {
    const { page } = lab;
    judge.forget();
    await show(page, { screen: "rewards" });
    const rollouts = [
      { row: "a", loop: 2, caption: "a green lorry", reference: "a green lorry" },
      { row: "a", loop: 2, caption: "a purple goat", reference: "a green lorry" },
    ];
    const buffer = Buffer.from(rollouts.map((rollout) => JSON.stringify(rollout)).join("\n"));
    await page.getByTestId("bench-file").setInputFiles({ name: "two.jsonl", mimeType: "text/plain", buffer });
    const term = page.getByTestId("bench-terms").getByRole("row", { name: /judge/i });
    await expect.poll(() => page.getByTestId("bench-source").textContent()).toMatch(/^two\.jsonl/);
    expect(judge.calls).toHaveLength(0);
    await page.getByRole("button", { name: "Score with the judge" }).click();
    // 1 for a caption equal to the reference, 0 for one of another thing.
    await expect.poll(() => term.textContent()).toMatch(/0\.500/);
    const asked = judge.calls.length;
    expect(asked).toBeGreaterThanOrEqual(2);
    expect(judge.calls.every((call) => call.headers.authorization === `Bearer ${KEY}`)).toBe(true);
    // Verdicts are kept when weights change, and come from the cache on a second request.
    await page.getByRole("button", { name: "Score with the judge" }).click();
    await page.getByTestId("weight-loop2Judge").fill("0.5");
    await expect.poll(() => page.getByRole("button", { name: "Score with the judge" }).isEnabled()).toBe(true);
    expect(judge.calls).toHaveLength(asked);
    await expect.poll(() => term.textContent()).toMatch(/0\.500/);
  });
});

describe("a key", () => {
  /** The stored key and its origin; null without a key. */
  const stored = async (): Promise<readonly (string | null)[] | null> => {
    const kept = (await lab.page.evaluate(
      "['judge-key', 'judge-key-origin'].map((name) => localStorage.getItem('sa2va-lab/' + name))",
    )) as (string | null)[];
    return kept[0] === null ? null : kept;
  };
  const own = (key: string): readonly string[] => [key, new URL(judge.url).origin];
  const reopen = async (): Promise<string> => {
    await lab.page.reload();
    await untilReady(lab.page);
    return (await lab.page.getByTestId("judge-key-state").textContent()) ?? "";
  };
  const enter = async (key: string): Promise<void> => {
    await lab.page.getByTestId("judge-key").fill(key);
    await lab.page.getByTestId("judge-key-use").click();
  };

  it("is gone with the page unless the user wants it remembered", async () => {
    await show(lab.page, { screen: "rewards" });
    await enter("zk-first");
    expect(await stored()).toBeNull();
    expect(await reopen()).not.toMatch(/A key is set/);
  });

  it("is remembered when asked, used on the next visit, and forgotten at once when unticked", async () => {
    const { page } = lab;
    await page.getByTestId("judge-keep").click();
    // A key entered earlier is not stored without being entered again.
    expect(await stored()).toBeNull();
    await enter("zk-second");
    expect(await stored()).toEqual(own("zk-second"));
    expect(await reopen()).toMatch(/A key is set/);
    judge.forget();
    await pressTest();
    expect(judge.calls.every((call) => call.headers.authorization === "Bearer zk-second")).toBe(true);
    await page.getByTestId("judge-keep").click();
    expect(await stored()).toBeNull();
    expect(await reopen()).not.toMatch(/A key is set/);
  });

  it("is forgotten on this device too by Forget key", async () => {
    const { page } = lab;
    await page.getByTestId("judge-keep").click();
    await enter("zk-third");
    expect(await stored()).toEqual(own("zk-third"));
    await page.getByRole("button", { name: "Forget key" }).click();
    expect(await stored()).toBeNull();
    await expect.poll(() => page.getByTestId("judge-keep").getAttribute("aria-checked")).toBe("false");
  });
});
