/** Questions of a conversation: what they ask for, and the phrase of a question that is answered by [SEG]. */
import { taggedPhrases, withoutTokens } from "./marks.ts";

/**
 * What a question asks for: a mask; yes or no; a number; the whole picture; something beside the region; a description of
 * something; one property; or nothing that is recognised.
 */
export type Asked = "mask" | "yes or no" | "number" | "picture" | "beside" | "description" | "property" | "unknown";

const REGION_WORDS =
  /\b(?:regions?|areas?|marked|masked|mask|highlighted|outlined|circled|boxed|bounding box|selected|indicated|annotated|target|(?:in|inside|within|by) (?:the|a) (?:\w+ )?(?:circle|box|contour|outline|rectangle|polygon|ellipse)|(?:the|this|that|target) (?:[\w-]+ )?(?:object|item|entity|instance|thing))\b|区域|标记|掩码|掩膜|遮罩|markiert|marcad[oa]|marqué|\b(?:objekt|objet|objeto|oggetto|región|région|região)\b|объект|област|отмечен|выделен|領域|対象|マーク|객체|영역|표시|المنطقة|الكائن|المحدد/i;
const PICTURE_WORDS =
  /\b(?:images?|pictures?|pics?|photos?|photographs?|scenes?|videos?|frames?|visuals?|visual content|everything|overview|overall|summary|dense captions?|took|screenshot|snapshot|painting|artwork|drawing|illustration|view|mood|atmosphere|room|place|weather|season|setting|surroundings|environment|background|foreground|time of day|going on|happening)\b|\b(?:you (?:can )?see|can you see|(?:is|are|was) (?:this |it )?(?:shown|depicted|visible|taken))\b(?! (?:about|in|on|inside|within|by)\b)|图片|图像|照片|画面|图中|图里|张图|什么地方|\b(?:imagen|imágenes|foto|fotograf[ií]a|escena|bild|bildes|szene|immagine|imagem|afbeelding|obraz|gambar)\b|изображени|картин|фото|сцен|画像|写真|シーン|이미지|사진|장면|صورة|مشهد/i;
/** Something next to a region, which is the object of the preposition. */
const BESIDE =
  /\b(?:besides|except(?: for)?|other than|apart from|aside from|next to|near(?: to)?|beside|behind|in front of|above|below|beneath|underneath|around|surround(?:s|ing)?|adjacent to|close to|(?:left|right) of)\s+(?:(?:the|this|that|these)\s+)?(?:[\w-]+\s+){0,2}?(?:it|them|regions?|areas?|masks?|objects?|items?|things?|box|circle|outline)\b/i;
const MASK_WANTED =
  /(?:^|[.?!,]\s*|\byou (?:please )?|\bplease (?:identify and )?|\bto |\band )segment\b|\b(?:output|respond with|answer with|reply with|provide|give(?: me)?|generate|produce|show(?: me)?|return|create|draw|predict|display)\s+(?:with\s+)?(?:an?\s+|the\s+|its\s+|their\s+|your\s+)?(?:[\w-]+\s+){0,2}?(?:segmentation(?:\s+masks?)?|masks?)\b|\bsegmentation masks?[.?!]*$|分割/i;
const YES_OR_NO =
  /\byes(?: or |\/| \/ |, )no\b|\btrue or false\b|\b(?:verify|check|determine|decide|judge|tell me|confirm) (?:whether|if|that)\b|是否|有没有|是不是|吗[?？。]?\s*$/i;
const CLOSED =
  /^(?:(?:and|so|but|now|then|also|well|please answer|question)[,:]?\s+)?(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|may|might|isn't|aren't|doesn't|don't|didn't|can't)\s+(?!you\b(?! (?:see|notice|spot|think|believe|say|agree)\b)|i\b|we\b|(?:someone|anyone)\b)/i;
const TAG_QUESTION =
  /,\s*(?:right|correct|(?:is|are|does|do|was|were|has|have)(?:n't)? (?:it|he|she|they|there))\s*\?\s*$/i;
/** A sentence in front of a question. */
const PREAMBLE = /^(?:look at|observe|this is|here is|here's|given|you are|i have|i've)\b/i;
const NUMBER =
  /\bhow many\b|\bhow much\b|\bcount (?:the|all|how)\b|\b(?:total |exact )?number of\b|多少|几[个只条张辆]/i;
const PROPERTY =
  /\b(?:what|which)(?:'s| is| are)? (?:(?:the|its|his|her|their) )?(?:main |dominant |exact )?(?:colou?rs?|shape|size|material|texture|position|location|orientation|relation(?:ship)?|purpose|function|brand|gender|age|emotion|pose|action)\b|\bwhat(?:'s| is| are) .+ (?:\w+ing(?: (?:at|on|to|with))?|made of|used for|for|like)\s*\?|^(?:how|why|when|where|who|whose|which)\b/i;
const DESCRIPTION =
  /\b(?:describe|describing|description|caption|expression|depict|details?|tell me|identify|name|label|characteri[sz]e|summari[sz]e|portray|explain|explanation|account|what(?:'s| is| are| do you see| can you| does))\b|描述|是什么/i;
/** Characters of a question that are examined; longer ones are documents, not questions. */
const MAX_QUESTION = 4096;
const BARE_ANSWER = /^\W*(?:(?:yes|no|yeah|yep|nope|true|false)|(?:是|否|不是|有|没有))\W*$/i;
const BARE_NUMBER =
  /^\W*(?:there (?:is|are) )?(?:(?:only|about|exactly) )?(?:\d+|zero|one|two|three|four|five|six|seven|eight|nine|ten|none)\W*$/i;

/** What an exchange is about, from the wording of its question and answer alone. */
export interface Wording {
  readonly asked: Asked;
  /** Whether the question speaks of a region, in words. */
  readonly region: boolean;
  /** Whether the question has nothing that contradicts a question about the row's one region. */
  readonly open: boolean;
}

/**
 * Reads the wording of a question.
 * @param question without the picture's token and without marks of regions
 */
export function wordingOf(question: string, answer: string): Wording {
  const text = question.slice(0, MAX_QUESTION).trim();
  const region = REGION_WORDS.test(text);
  const asked = askedIn(text, answer, region);
  const deictic = /\b(?:it|its|this|that|these|those|he|his|she|her|they|their|them)\b/i.test(text);
  const words = text.match(/[A-Za-z']{2,}/g)?.length ?? 0;
  const open =
    (asked === "description" && !PICTURE_WORDS.test(text)) ||
    (asked === "property" && deictic) ||
    (asked === "unknown" && (deictic || words <= 2));
  return { asked, region, open };
}

function askedIn(text: string, answer: string, region: boolean): Asked {
  if (MASK_WANTED.test(text)) return "mask";
  const sentences = sentencesOf(text);
  if (YES_OR_NO.test(text) || TAG_QUESTION.test(text) || BARE_ANSWER.test(answer)) return "yes or no";
  const describes = sentences.some((sentence) => DESCRIPTION.test(sentence) && !CLOSED.test(sentence));
  if (!describes && /^\W*(?:yes|no|yeah|nope)\b/i.test(answer)) return "yes or no";
  if (NUMBER.test(text)) return "number";
  if (sentences.some((sentence) => CLOSED.test(sentence)) && !(describes && sentences.length > 1)) return "yes or no";
  if (BARE_NUMBER.test(answer)) return "number";
  const beside = BESIDE.exec(text);
  if (beside !== null && !REGION_WORDS.test(text.slice(0, beside.index))) return "beside";
  const asking = sentences.filter((sentence) => !PREAMBLE.test(sentence));
  if (!region && PICTURE_WORDS.test(asking.length > 0 ? asking.join(" ") : text)) return "picture";
  if (sentences.some((sentence) => PROPERTY.test(sentence))) return "property";
  return describes ? "description" : "unknown";
}

/** The sentences of a text, without white space around them. */
function sentencesOf(text: string): string[] {
  return text
    .split(/(?<=[.?!。？！])(?<!\b(?:[A-Z]|dr|mr|mrs|ms|st|prof|sr|jr|no|vs|approx|e\.g|i\.e)\.)\s+|\n+/i)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
}

const POLITE =
  "(?:(?:please|kindly|now|then|next|also|and|so|ok|okay|hi|hello)[,]?\\s+)*(?:(?:can|could|would|will)\\s+you\\s+(?:please\\s+|kindly\\s+)?|i(?:\\s+want|\\s+need|(?:\\s+woul|')d\\s+like)\\s+(?:you\\s+)?(?:to\\s+)?|let's\\s+|your task is to\\s+)?(?:please\\s+)?(?:help\\s+(?:me\\s+)?(?:to\\s+)?)?";
const VERB =
  "(?:segment(?:\\s+out)?|identify|find|locate|detect|recogni[sz]e|point\\s+(?:out|to)|mark|highlight|outline|extract|isolate|select|pick\\s+out|cut\\s+out|delineate|locali[sz]e|ground|mask(?:\\s+out)?|show(?:\\s+me)?|(?:perform|do)\\s+(?:[\\w-]+\\s+)?segmentation\\s+(?:of|on|for))";
const DESCRIBED = /\b(?:descri(?:bed|ption)|expression|phrase|caption|query|text)(?:\s+as|\s+by|\s+is)?\s*:\s*(.+)$/i;
const TEMPLATES = [
  new RegExp(`^${POLITE}${VERB}(?:\\s+and\\s+(?:then\\s+)?${VERB})?:?\\s+(.+)$`, "i"),
  new RegExp(
    `^${POLITE}(?:provide|give|output|generate|produce|show|display|return|create|draw|predict|get|have)\\s+(?:me\\s+)?(?:us\\s+)?(?:with\\s+)?(?:an?|the)?\\s*(?:[\\w-]+\\s+){0,2}?(?:masks?|segmentation(?:\\s+masks?)?)\\s+(?:of|for|covering|showing|that\\s+(?:covers?|shows?))\\s+(.+)$`,
    "i",
  ),
  /^(?:an?\s+|the\s+)?(?:segmentation\s+)?masks?\s+(?:of|for)\s+(.+)$/i,
  /^请?(?:帮我)?(?:把)?(?:分割|标出|找出|识别)(?:出)?(?:(?:这张)?(?:图中|图片中|图像中|图里|图片里)的?)?(.+?)(?:分割出来|标出来)?[。.!！]?$/,
  /^(?:and\s+)?(?:what|how)\s+about\s+(.+)$/i,
  /^(?:and|now)\s+((?:also\s+)?(?:the|an?)\s.+)$/i,
  /^(?:what|where|who|which)(?:'s|\s+is|\s+are|\s+was|\s+were)\s+(.+)$/i,
];
/** A sentence that only asks for a mask, or for reasons. */
const REQUEST =
  /^(?:and\s+|then\s+)?(?:(?:please|kindly|also)[,]?\s+)*(?:(?:can|could|would)\s+you\s+(?:please\s+)?)?(?:respond|answer|reply|output|provide|give|generate|produce|show|return|include|use|explain|elaborate|segment\s+it|do\s+not|don't|you\s+should)\b/i;
const PLACE = "(?:image|picture|photo(?:graph)?|video|scene|frame|clip|figure)";
const TAIL = new RegExp(
  `(?:[\\s,;:.?!]+|[\\s,]+(?:(?:shown|visible|seen|present|depicted|found)\\s+)?(?:in|from|within|on|of)\\s+(?:(?:this|the|that)\\s+)?(?:given\\s+|provided\\s+|following\\s+|above\\s+)?${PLACE}(?:\\s+below)?|[\\s,]+(?:with|using|by|as)\\s+(?:providing\\s+|giving\\s+|drawing\\s+|outputting\\s+)?(?:an?\\s+|the\\s+|its\\s+)?(?:[\\w-]+\\s+)?(?:segmentation\\s+)?masks?|[\\s,]+for\\s+me|[\\s,]+please|[\\s,]+(?:and|then)\\s+(?:please\\s+)?(?:(?:output|respond|provide|give|explain|return|show|segment)\\b|(?:describe|tell|name|count|say|identify|caption|write|answer)\\s+(?:it|them|its|their|me|the|this|what|how|why|where)\\b)[^.?!]*)$`,
  "i",
);
const NO_PHRASE =
  /^(?:it|them|this|that|these|those|him|her|all|everything|anything|something|one|here|there|(?:the|this|that|an?|all)?\s*(?:images?|pictures?|photos?|scene|objects?|regions?|things?|masks?|areas?|targets?|answers?|following))$/i;
const QUESTION_WORD =
  /^(?:what|where|who|whom|whose|which|when|why|how|is|are|was|were|do|does|did|can|could|would|will|should|if|please|tell|describe|explain|identify|name|look|think|given|based|according|i|i'd|we|let)\b|\b(?:segment\w*|masks?|mask(?:iere|ieren)|bitte)\b|сегмент|分割|マスク|세그먼트|분할/iu;

/**
 * The phrase of a question that is answered by [SEG]: by the published templates of Sa2VA, LISA and GLaMM ("Please
 * segment {phrase} in this image.", "Where is {phrase}? Please output segmentation mask."), in tags, or the text itself
 * if it is neither a question nor a request. Undefined if the question names no object.
 */
export function phraseOf(question: string): string | undefined {
  if (question.length > MAX_QUESTION) return undefined;
  const tagged = taggedPhrases(question);
  if (tagged.length > 0) return tagged.length === 1 ? tagged[0]?.phrase || undefined : undefined;
  const text = withoutTokens(question);
  const described = DESCRIBED.exec(text.replace(/\s+/g, " "));
  if (described !== null) return cleaned(described[1] as string);
  for (const sentence of sentencesOf(text)) {
    for (const template of TEMPLATES) {
      const found = template.exec(sentence)?.[1];
      const phrase = found === undefined ? undefined : cleaned(found);
      if (phrase !== undefined) return phrase;
    }
  }
  const isRequest = (sentence: string): boolean => [REQUEST, ...TEMPLATES].some((form) => form.test(sentence));
  const rest = sentencesOf(text).filter((sentence) => !isRequest(sentence));
  const [only] = rest;
  if (rest.length === 1 && only !== undefined && !QUESTION_WORD.test(only) && !only.includes("?")) return cleaned(only);
  const quoted = [...text.matchAll(/(?<!\w)["'“‘]([^"'“”‘’]{2,300})["'”’](?!\w)/g)];
  return quoted.length === 1 ? cleaned(quoted[0]?.[1] as string) : undefined;
}

/** A phrase without what surrounds it in a question; undefined if it names nothing. */
function cleaned(found: string): string | undefined {
  let phrase = found.trim();
  for (let before = ""; before !== phrase; ) {
    before = phrase;
    phrase = phrase.replace(TAIL, "");
  }
  phrase = phrase.replace(/^where\s+(.+?)\s+(?:is|are)$/i, "$1");
  phrase = phrase.replace(/^(["'“‘«])(.+)(["'”’»])$/, "$2").trim();
  return phrase === "" || NO_PHRASE.test(phrase) || !/\p{L}/u.test(phrase) ? undefined : phrase;
}

const DETERMINED = /^(?:the|an?|this|that|these|those|his|her|its|their|my|your|one|two|three|\d+)\s/i;

/**
 * A phrase that lists as many things as wanted ("the cup, the plate and the spoon"). Undefined for another number, if
 * the parts may share their words, as in "the black and white dog", and if the answer names them in another order.
 */
export function splitPhrase(phrase: string, wanted: number, answer: string): string[] | undefined {
  const parts = phrase.split(/\s*[,;]\s*(?:and\s+)?|\s+and\s+/i).map((part) => part.trim());
  const apart = parts.every((part) => DETERMINED.test(part)) || parts.every((part) => /^\S+$/.test(part));
  const said = answer.toLowerCase();
  const places = parts.map((part) => said.indexOf(part.toLowerCase().split(/\s/).at(-1) as string));
  const named = places.filter((place) => place >= 0);
  const isInOrder = named.every((place, at) => at === 0 || place > (named[at - 1] as number));
  return parts.length === wanted && apart && isInOrder ? parts : undefined;
}

const LEAD =
  /^(?:[\s,.:;!?]|(?:and|sure|of course|certainly|okay|ok|yes|while|with|on|here (?:is|are)|it is|it's|they are|there (?:is|are)|this is|these are|the (?:segmentation )?(?:result|results|mask|masks)(?: (?:of|for))?(?: (?:is|are))?|segmentation (?:result|mask)s?(?: (?:of|for))?)(?![\w']))+/i;
const TRAIL = /(?:[\s,:;(-]|(?<![\w'])(?:is|are|at|as|by|shown|marked|segmented|located|here|mask|masks|with))+$/i;

/** Words of a sentence, not of a name. */
const SENTENCE = /^\w+ing\b|\b(?:shows?|is|are|was|were|has|have|can|there|images?|pictures?)\b/i;

/** The words before a [SEG], such as "the cup" in "Sure, the cup is [SEG]"; undefined if they name nothing. */
export function wordsBefore(text: string): string | undefined {
  const clause =
    text
      .slice(Math.max(0, text.length - 400))
      .split(/[.;!?\n]/)
      .at(-1) ?? "";
  const words = clause.replace(LEAD, "").replace(TRAIL, "");
  return SENTENCE.test(words) ? undefined : cleaned(words);
}

/** The words that follow a [SEG] and name it, such as "the cup" in "[SEG] is the cup" or "[SEG] (cup)". */
export function wordsAfter(text: string): string | undefined {
  const clause = /^\s*(?:(?:is|are|for|marks?|shows?)\s|[:=(–—-])\s*([^.;!?\n)[\]]{1,400})/i.exec(text)?.[1] ?? "";
  const words = clause.replace(/(?:[\s,:]|\band(?![\w']))+$/i, "");
  return SENTENCE.test(words) ? undefined : cleaned(words);
}
