const MANNERS =
  "brave calm clear eager fair gentle keen kind lucid mild noble quick quiet steady sunny swift tidy warm wise witty".split(
    " ",
  );
const ANIMALS =
  "badger beaver crane dove falcon finch fox hare heron ibex lark lynx marten newt otter owl raven robin seal wren".split(
    " ",
  );

/** A memorable name, such as "brave otter"; 400 different names. @param number any whole number from 0 */
export function runTitle(number: number): string {
  const manner = MANNERS[number % MANNERS.length];
  const animal = ANIMALS[Math.floor(number / MANNERS.length) % ANIMALS.length];
  return `${manner} ${animal}`;
}
