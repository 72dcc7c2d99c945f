// The page in headless Chromium: real clicks on every button, and what a reader then sees. Time is stopped,
// or moves in exact steps, except in the test of time itself.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { site } from './help.js';
import { serve } from './serve.js';

/** The longest time of any step on a busy machine, in milliseconds. */
const TIMEOUT = 120_000;

const LOOKS = [
  { name: 'a wide screen in the light', viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
  { name: 'a wide screen in the dark', viewport: { width: 1440, height: 900 }, colorScheme: 'dark' },
  { name: 'a tablet', viewport: { width: 820, height: 1180 }, colorScheme: 'light' },
  { name: 'a phone in the light', viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true, isMobile: true },
  { name: 'a phone in the dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true },
];
const [WIDE, , , PHONE] = LOOKS;

let server;
let browser;

before(async () => {
  server = await serve(site);
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    timeout: TIMEOUT,
  });
});

after(async () => {
  await browser?.close();
  await server?.close();
});

/** Opens the page, lets `play` do something, and checks that nothing went wrong and nothing left the machine. */
async function opened(look, query, play) {
  const { name, ...how } = look;
  const context = await browser.newContext(how);
  context.setDefaultTimeout(TIMEOUT);
  const wrong = [];
  const page = await context.newPage();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) wrong.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(server.address)) wrong.push(`asks ${request.url()}`);
  });
  page.on('response', (response) => {
    if (!response.ok()) wrong.push(`${response.status()} ${response.url()}`);
  });
  try {
    await page.goto(server.address + query);
    await page.waitForSelector('html[data-ready]');
    await play(page);
    assert.deepEqual(wrong, [], name);
  } finally {
    await context.close();
  }
}

const STILL = '?paused&seed=7';

/** Lets this many milliseconds of the world pass. */
const step = (page, milliseconds) => page.evaluate((span) => globalThis.playground.step(span), milliseconds);

const text = (page, selector) => page.locator(selector).innerText();
const leader = (page) => text(page, '#leads-now');
const card = (page, name) => page.locator(`#card-${name}`);
const word = (page, name) => card(page, name).locator('.word').innerText();
const button = (page, name, label) => card(page, name).getByRole('button', { name: label, exact: true });
const scene = (page, name) => page.getByRole('button', { name, exact: true });
const story = (page) => text(page, '#story');

/** Advances the world until a leader is shown; returns its name. */
async function someoneLeads(page) {
  for (let turn = 0; turn < 60; turn += 1) {
    const name = await leader(page);
    if (name !== 'none') return name;
    await step(page, 500);
  }
  throw new Error('no candidate leads');
}

async function fits(page, look) {
  const wide = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.equal(wide[0], wide[1], `${look}: the page scrolls sideways`);
  const clipped = await page.evaluate(() =>
    [...document.querySelectorAll('button, h1, h2, h3, dd, .why, .status, .drift, label, #story li')]
      .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0)
      .map((element) => `${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`),
  );
  assert.deepEqual(clipped, [], `${look}: text is clipped`);
}

for (const look of LOOKS) {
  test(`on ${look.name} nothing is clipped, and every word can be read`, () =>
    opened(look, STILL, async (page) => {
      await step(page, 5_000);
      await fits(page, look.name);
      for (const name of ['is cut off', 'loses its record', 'has a broken clock']) {
        await someoneLeads(page);
        await scene(page, name).click();
        await step(page, 11_500);
        await fits(page, `${look.name}, ${name}`);
        assert.deepEqual(await faint(page), [], `${look.name}, ${name}`);
        await step(page, 25_000);
      }
      assert.equal(await text(page, '#violations'), '0');
    }));
}

/** Words whose contrast with their background is under 4.5, by WCAG's formula. */
function faint(page) {
  return page.evaluate(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgb = (colour) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = (colour) => {
      const [red, green, blue] = colour.map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const colour = rgb(getComputedStyle(at).backgroundColor);
        if (colour[3] === 255) return colour;
      }
      return rgb('white');
    };
    const hasWords = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    return [...document.querySelectorAll('body *:not(svg *, option, noscript)')]
      .filter((element) => element.checkVisibility() && hasWords(element) && !element.closest('[aria-disabled=true], .unseen'))
      .map((element) => {
        const [one, other] = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
        return [(Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05), element];
      })
      .filter(([contrast]) => contrast < 4.5)
      .map(([contrast, element]) => `${contrast.toFixed(2)} ${element.tagName}.${element.className} ${element.textContent.slice(0, 30)}`);
  });
}

for (const look of [WIDE, PHONE]) {
  test(`every button of a candidate does what it says, on ${look.name}`, () =>
    opened(look, STILL, async (page) => {
      await step(page, 5_000);
      const first = await someoneLeads(page);
      assert.equal(await word(page, first), 'leading');
      assert.equal(await text(page, '#record-holder'), first);

      await button(page, first, 'Freeze').click();
      assert.equal(await word(page, first), 'frozen');
      assert.match(await card(page, first).locator('.why').innerText(), /^Frozen\. It would lead for \d\.\d s more/);
      await step(page, 12_000);
      const second = await someoneLeads(page);
      assert.notEqual(second, first);
      await button(page, first, 'Thaw').click();
      assert.equal(await leader(page), second);
      await step(page, 500);
      assert.equal(await word(page, first), 'waiting');
      assert.match(await story(page), new RegExp(`${first} resumes, and never believes that it leads`));

      await button(page, second, 'Kill').click();
      assert.equal(await word(page, second), 'dead');
      assert.equal(await leader(page), 'none');
      await step(page, 11_000);
      const third = await someoneLeads(page);
      await button(page, second, 'Restart').click();
      await step(page, 500);
      assert.equal(await word(page, second), 'waiting');

      await button(page, third, 'Cut off').click();
      await step(page, 6_000);
      assert.equal(await word(page, third), 'in doubt');
      assert.equal(await card(page, third).locator('.tag').innerText(), 'cut off');
      await step(page, 6_000);
      assert.equal(await word(page, third), 'waiting');
      const fourth = await someoneLeads(page);
      await button(page, third, 'Connect').click();
      await step(page, 500);
      assert.equal(await card(page, third).locator('.tag').isVisible(), false);

      await button(page, fourth, 'Resign').click();
      assert.equal(await word(page, fourth), 'draining');
      assert.equal(await leader(page), fourth, 'it leads while it finishes its work');
      await step(page, 2_000);
      assert.notEqual(await leader(page), fourth);
      const fifth = await someoneLeads(page);

      const clock = card(page, fifth).getByLabel('clock');
      await clock.selectOption('-5000');
      assert.equal(await card(page, fifth).locator('.drift').innerText(), 'within the 0.5 % allowed');
      assert.equal(await page.locator('#assumption').isVisible(), false);
      await clock.selectOption('-500000');
      assert.equal(await card(page, fifth).locator('.drift').innerText(), 'beyond the 0.5 % allowed');
      assert.match(await text(page, '#assumption'), new RegExp(`^Not promised now: ${fifth}’s clock runs 50 % slow`));
      assert.equal(await text(page, '#violations'), '0');
    }));
}

test('every scene shows what happens to the leader, and who follows', () =>
  opened(WIDE, STILL, async (page) => {
    const scenes = {
      'is killed': /is killed, and can release nothing/,
      freezes: /is frozen in the middle of its work/,
      'is cut off': /is cut off from the store\. Its lease is proved for/,
      resigns: /is asked to leave/,
      'loses its record': /An operator deletes \w+’s record/,
      'has a broken clock': /lead at once, because a clock is further out than the settings allow/,
    };
    for (const [name, says] of Object.entries(scenes)) {
      await step(page, 20_000);
      const before = await someoneLeads(page);
      await scene(page, name).click();
      await step(page, 11_500);
      assert.match(await story(page), says, name);
      // The candidate whose record was deleted may win the next race too.
      if (name !== 'loses its record') assert.notEqual(await leader(page), before, name);
      assert.notEqual(await leader(page), 'none', name);
      await step(page, 30_000);
    }
    assert.equal(await text(page, '#violations'), '0');
    await step(page, 30_000);
    assert.match(await text(page, '#assumption'), /^Once two led at once, outside the promise\.$/);
  }));

test('when two lead at once both are named, and the page reports that this is outside the promise', () =>
  opened(WIDE, STILL, async (page) => {
    await step(page, 5_000);
    await scene(page, 'has a broken clock').click();
    await step(page, 11_000);
    assert.match(await leader(page), /^\w+ and \w+$/);
    assert.equal(await page.locator('#verdict').getAttribute('data-verdict'), 'excused');
    assert.equal(await text(page, '#violations'), '0');
    assert.equal(await page.locator('.scroller .overlap').count(), 1);
  }));

test('the operator’s button deletes the record, and is off if there is none', () =>
  opened(WIDE, STILL, async (page) => {
    assert.equal(await page.locator('#remove').getAttribute('aria-disabled'), 'true');
    await step(page, 5_000);
    const before = await someoneLeads(page);
    await scene(page, 'Delete the record').click();
    assert.equal(await text(page, '#record-holder'), 'none');
    assert.match(await text(page, '#record-note'), /^Deleted by an operator/);
    await step(page, 2_000);
    assert.equal(await leader(page), 'none');
    const holding = page.locator('[data-status=holding]');
    assert.equal(await holding.count(), 1);
    await step(page, 9_000);
    assert.notEqual(await leader(page), 'none');
    assert.match(await story(page), new RegExp(`${before} learns that its record was deleted`));
  }));

test('the timeline grows: a row for each candidate, terms with tokens, faults, and leases that extend beyond now', () =>
  opened(WIDE, STILL, async (page) => {
    await step(page, 5_000);
    const before = await page.locator('.scroller .leading').first().getAttribute('width');
    await scene(page, 'is cut off').click();
    await step(page, 3_000);
    assert.ok(Number(await page.locator('.scroller .leading').first().getAttribute('width')) > Number(before));
    await step(page, 9_000);
    const tokens = await page.locator('.scroller .token').allTextContents();
    assert.equal(tokens.length, 2);
    assert.equal(tokens[0], 'token 1');
    assert.equal(await page.locator('.scroller .leading').count(), 2);
    assert.equal(await page.locator('.scroller .doubt').count(), 1);
    assert.equal(await page.locator('.scroller .cut').count(), 1);
    assert.deepEqual(await page.locator('.scroller .mark').allTextContents(), ['cut off']);
    assert.equal(await page.locator('#labels > div').count(), 6);
    const ahead = page.locator('.scroller rect.ahead:not([width="0.0"])');
    assert.equal(await ahead.count(), 2, 'the leader’s lease, and the record that outlasts it');
    const end = (index) => ahead.nth(index).evaluate((bar) => Number(bar.getAttribute('x')) + Number(bar.getAttribute('width')));
    assert.ok((await end(0)) > (await end(1)), 'the store keeps the record for longer than its holder counts on it');
  }));

test('the timeline can be scrolled back, and returns to now', () =>
  opened(PHONE, STILL, async (page) => {
    await step(page, 60_000);
    await page.locator('#scroller').evaluate((scroller) => scroller.scrollTo(0, 0));
    await page.locator('#follow').waitFor();
    await step(page, 1_000);
    assert.equal(await page.locator('#scroller').evaluate((scroller) => scroller.scrollLeft), 0, 'it stays where it was put');
    await page.locator('#follow').click();
    await page.locator('#follow').waitFor({ state: 'hidden' });
    assert.ok((await page.locator('#scroller').evaluate((scroller) => scroller.scrollLeft)) > 100);
  }));

test('another lease and another network take effect, and starting over starts over', () =>
  opened(WIDE, STILL, async (page) => {
    await step(page, 5_000);
    await page.getByRole('combobox', { name: 'lease', exact: true }).selectOption('5 s');
    assert.match(await story(page), /A lease lasts 5 s from now on/);
    await step(page, 2_000);
    await someoneLeads(page);
    assert.ok(Number.parseFloat(await text(page, '#record-left')) <= 5);
    await page.getByRole('combobox', { name: 'network', exact: true }).selectOption('rough');
    assert.match(await story(page), /The network is rough from now on/);
    await step(page, 60_000);
    assert.equal(await text(page, '#violations'), '0');
    await scene(page, 'Start over').click();
    assert.equal(await text(page, '#now'), '0:00.0');
    assert.equal(await text(page, '#seed'), '8');
    assert.equal(await page.locator('#story li').count(), 1);
    assert.equal(await page.getByRole('combobox', { name: 'network', exact: true }).inputValue(), 'rough');
    assert.match(await story(page), /A lease lasts 5 s\./);
  }));

test('time runs, at the speed that is chosen, stops, and goes by steps', () =>
  opened(WIDE, '?seed=7', async (page) => {
    const now = () => page.evaluate(() => globalThis.playground.world.now);
    await page.getByRole('radio', { name: '10' }).check({ force: true });
    assert.equal(await page.evaluate(() => globalThis.playground.speed), 10);
    await page.waitForFunction(() => globalThis.playground.world.leader !== undefined);
    await scene(page, 'Pause time').click();
    const stopped = await now();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.equal(await now(), stopped);
    await scene(page, 'Step ½ s').click();
    assert.equal(await now(), stopped + 500_000);
    await scene(page, 'Let time run').click();
    await page.waitForFunction((from) => globalThis.playground.world.now > from, stopped + 500_000);
    await scene(page, 'Step ½ s').click();
    assert.equal(await page.locator('#run').innerText(), 'Let time run', 'a step stops time');
  }));

test('the theme is the system’s, until another is chosen, which is kept', () =>
  opened({ ...WIDE, colorScheme: 'dark' }, STILL, async (page) => {
    const paper = () => page.locator('#verdict').evaluate((panel) => getComputedStyle(panel).backgroundColor);
    const dark = await paper();
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await paper();
    assert.notEqual(dark, light);
    const theme = page.locator('#theme');
    await theme.click();
    await theme.click();
    assert.equal(await theme.innerText(), 'Theme: dark');
    assert.equal(await paper(), dark);
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    assert.equal(await paper(), dark);
    await theme.click();
    assert.equal(await theme.innerText(), 'Theme: auto');
    assert.equal(await paper(), light);
  }));

test('everything can be reached and done with the keyboard, and what has the focus shows it', () =>
  opened(WIDE, STILL, async (page) => {
    await step(page, 5_000);
    const first = await someoneLeads(page);
    const reached = new Set();
    for (let turn = 0; turn < 80; turn += 1) {
      await page.keyboard.press('Tab');
      const { name, ring } = await page.evaluate(() => {
        const at = document.activeElement;
        const shown = at.matches('.speeds input') ? at.nextElementSibling : at;
        const inside = at.closest('.card')?.id ?? '';
        return {
          name: at === document.body ? '' : `${inside} ${at.id || at.getAttribute('aria-label') || at.value || at.textContent}`.trim(),
          ring: getComputedStyle(shown).outlineStyle,
        };
      });
      if (name === '') continue;
      assert.notEqual(ring, 'none', name);
      reached.add(name);
    }
    const buttons = await page.locator('button:visible, select:visible').count();
    assert.ok(reached.size >= buttons, `${reached.size} of ${buttons}: ${[...reached]}`);
    await scene(page, 'is killed').focus();
    await page.keyboard.press('Enter');
    assert.equal(await word(page, first), 'dead');
    await button(page, first, 'Restart').focus();
    await page.keyboard.press('Space');
    assert.notEqual(await word(page, first), 'dead');
  }));

test('with reduced motion the picture is renewed twice a second', () =>
  opened({ ...WIDE, reducedMotion: 'reduce' }, '?seed=7', async (page) => {
    const drawn = await page.evaluate(async () => {
      let count = 0;
      const watch = new MutationObserver(() => (count += 1));
      watch.observe(document.getElementById('now'), { childList: true, characterData: true, subtree: true });
      const { world } = globalThis.playground;
      const from = world.now;
      // By the time of the frames, so that a busy machine changes nothing.
      while (world.now < from + 2_000_000) await new Promise((resolve) => requestAnimationFrame(resolve));
      watch.disconnect();
      return count;
    });
    assert.ok(drawn >= 1 && drawn <= 6, `${drawn}`);
  }));

test('on a phone the reasons come before the candidates’ cards', () =>
  opened(PHONE, STILL, async (page) => {
    const top = async (selector) => (await page.locator(selector).boundingBox()).y;
    assert.ok((await top('#story')) < (await top('#cards')));
  }));

for (const [name, width, height] of [['a wide page', 750, 640], ['a phone', 358, 720]]) {
  test(`in a frame of ${name} the fall of a leader is seen and explained without scrolling, in the theme around it`, async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
    context.setDefaultTimeout(TIMEOUT);
    try {
      const page = await context.newPage();
      const around = `<!doctype html><html class="navy"><iframe src="index.html${STILL}" width="${width}" height="${height}">`;
      await page.route('**/around.html', (route) => route.fulfill({ contentType: 'text/html', body: around }));
      await page.goto(`${server.address}around.html`);
      await page.frameLocator('iframe').locator('html[data-ready]').waitFor({ state: 'attached' });
      const frame = page.frames().find((one) => one.url().includes('index.html'));
      await step(frame, 5_000);
      const first = await leader(frame);
      await scene(frame, 'is killed').click();
      await step(frame, 14_000);
      assert.notEqual(await leader(frame), first);
      assert.match(await story(frame), new RegExp(`${first} is killed, and can release nothing`));
      const shown = await frame.evaluate(() => ({
        height: innerHeight,
        bottom: document.querySelector('#story').getBoundingClientRect().bottom,
        scrolls: document.documentElement.scrollHeight > innerHeight || document.documentElement.scrollWidth > innerWidth,
        theme: document.documentElement.dataset.theme,
      }));
      assert.ok(shown.bottom <= shown.height, `the reasons end at ${shown.bottom} of ${shown.height}`);
      assert.deepEqual([shown.scrolls, shown.theme], [false, 'dark']);
      await page.evaluate(() => { document.documentElement.className = 'light'; });
      await frame.waitForFunction(() => document.documentElement.dataset.theme === 'light');
    } finally {
      await context.close();
    }
  });
}

test('the build is static: no address of another machine is in it but names of formats', async () => {
  const { readdir, readFile } = await import('node:fs/promises');
  const path = await import('node:path');
  const files = await readdir(site, { recursive: true, withFileTypes: true });
  const found = [];
  for (const file of files.filter((entry) => entry.isFile() && !entry.name.endsWith('.wasm'))) {
    const contents = await readFile(path.join(file.parentPath ?? file.path, file.name), 'utf8');
    for (const [address] of contents.matchAll(/\bhttps?:\/\/[^\s'"`)<>]+/g)) {
      if (address !== 'http://www.w3.org/2000/svg') found.push(`${file.name}: ${address}`);
    }
  }
  assert.deepEqual(found.filter((line) => !line.startsWith('engine.js: https://github.com/')), []);
});
