/** Which Vulkan driver a fresh machine gets. */
import { expect, it } from "vitest";
import { offersMesa } from "../../../scripts/lib/ensure.mjs";

const policy = (candidate: string): string => `mesa-vulkan-drivers:
  Installed: (none)
  Candidate: ${candidate}
  Version table:
     25.0.7-2~bpo12+1 100
        100 http://deb.debian.org/debian bookworm-backports/main amd64 Packages
     22.3.6-1+deb12u2 500
        500 http://deb.debian.org/debian bookworm/main amd64 Packages
`;

it.each([
  ["25.0.7-2~bpo12+1", true],
  ["1:24.2.8-1ubuntu1", true],
  ["23.2.1-1ubuntu3.1~22.04.3", true],
  ["22.3.6-1+deb12u2", false],
  ["(none)", false],
])("Mesa %s: %s", (candidate, accepted) => expect(offersMesa(policy(candidate))).toBe(accepted));

it("no apt, no Mesa", () => expect(offersMesa("")).toBe(false));
