"""The page of `cait serve` in a real browser: Debian's Chromium, driven by Playwright.
Usage: page_checks.py CAIT MODEL MODEL --segmenter FILE --detector FILE --translator FILE --vectors FILE
--pictures FOLDER [--shots FOLDER]. Says what failed and exits with 1, with 77 where the browser or Playwright is missing."""
import argparse
import base64
import re
import signal
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

SKIPPED = 77
CHROMIUM = "/usr/bin/chromium"
try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import Page, expect, sync_playwright
except ModuleNotFoundError as missing:
    print(f"{missing.name} is not installed (./dev test --all installs it)")
    sys.exit(SKIPPED)
if not Path(CHROMIUM).exists():
    print(f"there is no {CHROMIUM} (./dev test --all installs it)")
    sys.exit(SKIPPED)

TOKEN = "correct-horse-battery"
PATIENCE = 20_000  # milliseconds: a tiny model on a busy machine


class Server:
    """`cait serve` on a port that the system chooses first, and on the same one afterwards."""

    def __init__(self, words: list[str]):
        self.words, self.port, self.process = words, 0, None

    def start(self) -> str:
        self.process = subprocess.Popen([*self.words, "--port", str(self.port), "--grace", "0"],
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"listening at http://.*:(\d+)", line):
                self.port = int(found[1])
                return f"http://127.0.0.1:{self.port}/"
        sys.exit(f"page_checks: the server said: {self.process.stderr.read()}")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def png(side: int = 96, colour: Callable[[int, int], list[int]] | None = None, height: int = 0) -> bytes:
    """By a function of x and y, or a light square on a dark ground."""
    height = height or side
    colour = colour or (lambda x, y: [220, 200, 60] if side // 4 < x < side // 2 < y else [30, 50, 80])
    rows = b"".join(b"\0" + b"".join(bytes(colour(x, y)) for x in range(side)) for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def upload(page: Page, content: bytes, name: str = "square.png") -> None:
    page.set_input_files("#file", {"name": name, "mimeType": "image/png", "buffer": content})


def expect_answers(page: Page, panels: int = 1) -> None:
    expect(page.locator(".panel")).to_have_count(panels)
    for panel in page.locator(".panel").all():
        expect(panel.locator(".answers li").first).to_be_visible(timeout=PATIENCE)
        expect(panel.locator("canvas")).to_have_attribute("aria-label", re.compile("answer: "), timeout=PATIENCE)


def pixels(page: Page) -> str:
    return page.locator(".panel canvas").first.evaluate("canvas => canvas.toDataURL()")


def check_upload(page: Page) -> None:
    upload(page, png())
    expect_answers(page)
    scores = [float(bar.get_attribute("value")) for bar in page.locator(".answers progress").all()]
    assert scores == sorted(scores, reverse=True) and 0 < sum(scores) <= 1.001, scores


def check_paste(page: Page) -> None:
    page.evaluate("""bytes => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], "pasted.png", {type: "image/png"}));
        dispatchEvent(new ClipboardEvent("paste", {clipboardData: data}));
    }""", list(png(64)))
    expect(page.locator("#status")).not_to_have_text(re.compile("Looking"), timeout=PATIENCE)
    expect_answers(page)
    page.evaluate("dispatchEvent(new ClipboardEvent('paste', {clipboardData: new DataTransfer()}))")
    expect(page.locator("#status")).to_contain_text("no image on the clipboard")


def check_drop(page: Page) -> None:
    page.evaluate("""bytes => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], "dropped.png", {type: "image/png"}));
        dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true}));
    }""", list(png(80)))
    expect(page.locator("#status")).not_to_have_text(re.compile("Looking"), timeout=PATIENCE)
    expect_answers(page)


def check_sliders(page: Page) -> None:
    upload(page, png())
    expect_answers(page)
    pictures = {"heat": pixels(page)}
    for kind in ("saliency", "image"):
        page.locator(f".panel input[value={kind}]").check()
        page.wait_for_function("old => document.querySelector('.panel canvas').toDataURL() !== old", arg=pictures["heat"])
        pictures[kind] = pixels(page)
    assert len(set(pictures.values())) == 3, "heat map, saliency and image look the same"
    page.locator(".panel input[value=heat]").check()
    page.wait_for_function("old => document.querySelector('.panel canvas').toDataURL() === old", arg=pictures["heat"])
    for slider in (".head", ".layer"):
        before = pixels(page)
        control = page.locator(f".panel {slider}")
        control.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("old => document.querySelector('.panel canvas').toDataURL() !== old", arg=before)
    expect(page.locator(".panel .slider output").nth(1)).to_contain_text("1 of")


def check_drawn_as_by_attend(page: Page, program: str, model: str) -> None:
    """Heat map and saliency are those of `cait attend`, within what rounding leaves."""
    side = page.locator(".panel canvas").evaluate("canvas => canvas.width")
    photo = png(side, lambda x, y: [(3 * x + y) % 256, 255 * y // side, (x * y // 97) % 256])
    upload(page, photo)
    expect_answers(page)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "photo.png").write_bytes(photo)
        for style in ("heat", "saliency"):
            subprocess.run([program, "attend", "--weights", model, place / "photo.png", "--style", style, "--output",
                            place / "look.png"], check=True, stderr=subprocess.DEVNULL)
            sheet = base64.b64encode((place / "look.png").read_bytes()).decode()
            before = pixels(page)
            page.locator(f".panel input[value={style}]").check()
            if style != "heat":  # which is shown at first
                page.wait_for_function("old => document.querySelector('.panel canvas').toDataURL() !== old", arg=before)
            worst = page.evaluate(FIND_TILE, {"sheet": "data:image/png;base64," + sheet, "side": side})
            assert worst <= 2, f"{style}: differs from `cait attend` by {worst} of 255"


# The largest difference between the canvas and that tile of a sheet which is most like it.
FIND_TILE = """async ({sheet, side}) => {
    const picture = new Image();
    picture.src = sheet;
    await picture.decode();
    const [wide, high] = [picture.naturalWidth, picture.naturalHeight];
    const all = new OffscreenCanvas(wide, high).getContext("2d");
    all.drawImage(picture, 0, 0);
    const theirs = all.getImageData(0, 0, wide, high).data;
    const ours = document.querySelector(".panel canvas").getContext("2d").getImageData(0, 0, side, side).data;
    const difference = (left, top, step) => {
        let worst = 0;
        for (let y = 0; y < side; y += step)
            for (let x = 0; x < side; x += step)
                for (let c = 0; c < 3; ++c)
                    worst = Math.max(worst, Math.abs(theirs[4 * ((top + y) * wide + left + x) + c] - ours[4 * (y * side + x) + c]));
        return worst;
    };
    let best = [256, 0, 0];
    for (let top = 0; top + side <= high; ++top)
        for (let left = 0; left + side <= wide; ++left) {
            const worst = difference(left, top, 37);
            if (worst < best[0]) best = [worst, left, top];
        }
    return difference(best[1], best[2], 1);
}"""


def check_compare(page: Page) -> None:
    upload(page, png())
    page.locator("#compare").check()
    expect_answers(page, 2)
    names = [select.input_value() for select in page.locator(".panel select").all()]
    assert names[0] != names[1], names
    page.locator("#compare").uncheck()
    expect_answers(page, 1)


def check_broken(page: Page) -> None:
    upload(page, png()[:100])
    expect(page.locator("#status")).to_contain_text("cannot be read")
    upload(page, png())  # and the page goes on
    expect_answers(page)


def check_sample(page: Page) -> None:
    page.get_by_role("button", name="Sample: house").click()
    expect(page.locator("#status")).not_to_have_text(re.compile("Looking|^$"), timeout=PATIENCE)
    expect_answers(page)


def check_server_away(page: Page, server: Server) -> None:
    upload(page, png())
    expect_answers(page)
    server.stop()
    expect(page.locator("#trouble")).to_contain_text("does not answer", timeout=PATIENCE)
    upload(page, png(72))
    server.start()
    expect(page.locator("#trouble")).to_be_hidden(timeout=PATIENCE)
    expect_answers(page)


def check_similar(page: Page) -> None:
    upload(page, png())
    expect_answers(page)
    expect(page.locator("#neighbours li").first).to_be_visible(timeout=PATIENCE)
    page.wait_for_function("""count => {
        const pictures = [...document.querySelectorAll("#neighbours img")];
        return pictures.length === count && pictures.every(one => one.naturalWidth > 1);
    }""", arg=page.locator("#neighbours li").count() - 1)  # all but the one that was deleted
    for picture in page.locator("#neighbours img").all():
        expect(picture).to_have_attribute("alt", re.compile(r"Similar image: .*\.(png|jpg)"))


def check_token(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#token")).to_be_focused()
    expect(page.locator("main")).to_be_hidden()
    check_accessible(page)
    for wrong, words in (("guess", "does not take this token"), ("a b", "visible characters")):
        page.fill("#token", wrong)
        page.keyboard.press("Enter")
        expect(page.locator("#locked")).to_contain_text(words)
    page.fill("#token", TOKEN)
    page.get_by_role("button", name="Use it").click()
    expect(page.locator("#unlock")).to_be_hidden(timeout=PATIENCE)
    check_similar(page)  # pictures need it as well
    kept = page.evaluate("[JSON.stringify(sessionStorage), JSON.stringify(localStorage), document.cookie, location.href]")
    assert TOKEN in kept[0] and not any(TOKEN in place for place in kept[1:]), kept
    page.reload()
    expect(page.locator(".panel select")).to_be_visible(timeout=PATIENCE)  # not asked again in this tab
    page.evaluate("sessionStorage.setItem('cait-token', 'outdated')")  # as after the server's was changed
    upload(page, png())
    expect(page.locator("#token")).to_be_visible(timeout=PATIENCE)
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    expect_answers(page)


def check_narrow(page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    page.locator("#compare").check()
    upload(page, png())
    expect_answers(page, 2)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 320, f"the page is {wide} pixels wide on a screen of 320"


def noise(x: int, y: int) -> list[int]:
    return [(97 * (x // 9) + 31 * (y // 7)) % 256, (x * y) % 256, (5 * x + 11 * (y // 5) ** 2) % 256]


def choose(page: Page, task: str) -> None:
    """The model for it, which has its name, and a picture that is wider than high."""
    page.locator(".panel select").select_option(task)
    upload(page, png(120, noise, 80), "wide.png")
    expect(page.locator("#status")).not_to_have_text(re.compile("Looking|^$"), timeout=PATIENCE)
    expect(page.locator("#status")).to_contain_text(task)
    expect(page.locator(".panel canvas")).to_have_attribute("aria-label", re.compile("answer: "), timeout=PATIENCE)


def places(page: Page) -> list:
    """Where the parts of a panel stand, and how large they are."""
    return page.evaluate("""() => [...document.querySelectorAll(".panel canvas, .panel figcaption, .panel .views, .panel .answers")]
        .map(one => one.getBoundingClientRect()).map(box => [box.left, box.top, box.width, box.height].map(Math.round))""")


def wait_for_other_pixels(page: Page, than: str) -> str:
    page.wait_for_function("old => document.querySelector('.panel canvas').toDataURL() !== old", arg=than)
    return pixels(page)


def point_at(page: Page, across: float, down: float) -> str:
    """A place of the canvas, as shares of its box; what the caption says then."""
    box = page.locator(".panel canvas").bounding_box()
    page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
    return page.locator(".panel figcaption").inner_text()


def check_segments(page: Page) -> None:
    before = places(page)[0]
    choose(page, "segment")
    assert places(page)[0] == before, "the image's place has moved"
    shown = page.evaluate("() => [document.querySelector('.panel canvas')].map(one => [one.width, one.height])[0]")
    assert abs(shown[0] / shown[1] - 1.5) < 0.01, f"the image is shown as {shown}"
    for kind, visible in (("classes", True), ("image", True), ("heat", False), ("objects", False)):
        expect(page.locator(f".panel input[value={kind}]")).to_be_visible(visible=visible)
    scores = [float(bar.get_attribute("value")) for bar in page.locator(".answers progress").all()]
    assert scores == sorted(scores, reverse=True) and 0.999 < sum(scores) < 1.001, scores
    names = page.locator(".answers .words span:first-child").all_inner_texts()
    expect(page.locator(".answers .swatch")).to_have_count(len(scores))
    assert point_at(page, 0.5, 0.5) in names, "the caption does not name the class under the pointer"
    assert "Point at" in point_at(page, 0.5, 0.02), "beside the image there is no class"
    classes = pixels(page)
    page.locator(".panel input[value=image]").check()
    wait_for_other_pixels(page, classes)


def check_detections(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/detect" in request.url else None)
    before = places(page)[0]
    choose(page, "detect")
    slider, buttons = page.locator(".panel .threshold"), page.locator(".objects li:not([hidden]) button")
    slider.focus()
    page.keyboard.press("Home")  # everything
    count = buttons.count()
    assert count >= 2, f"the model finds {count} objects"
    assert places(page)[0] == before, "the image's place has moved"
    for kind, visible in (("objects", True), ("image", True), ("heat", False), ("classes", False)):
        expect(page.locator(f".panel input[value={kind}]")).to_be_visible(visible=visible)
    scores = [float(bar.get_attribute("value")) for bar in page.locator(".objects progress").all()]
    assert scores == sorted(scores, reverse=True) and scores[-1] >= 0.05, scores

    # The slider filters what is there: nothing is asked again, and nothing moves.
    everything, stands = pixels(page), places(page)
    middle = round((scores[0] + scores[-1]) / 2, 2)
    slider.fill(str(middle))
    left = sum(score >= middle for score in scores)
    expect(buttons).to_have_count(left)
    assert sum(int(text.split()[-1]) for text in page.locator(".legend li").all_inner_texts()) == left
    assert places(page) == stands, "the slider moves the page"
    wait_for_other_pixels(page, everything)
    slider.fill("0.05")
    page.wait_for_function("old => document.querySelector('.panel canvas').toDataURL() === old", arg=everything)
    assert len(asked) == 1, asked

    # By keyboard: each object in turn, in the image and in words.
    slider.focus()
    page.keyboard.press("Tab")
    expect(buttons.first).to_be_focused()
    expect(page.locator(".panel figcaption")).to_contain_text("%")
    first = wait_for_other_pixels(page, everything)
    page.keyboard.press("ArrowDown")
    expect(buttons.nth(1)).to_be_focused()
    wait_for_other_pixels(page, first)
    page.keyboard.press("End")
    expect(buttons.last).to_be_focused()
    assert places(page) == stands, "the focus moves the page"
    check_accessible(page)
    page.keyboard.press("Tab")  # one step leaves the list
    expect(page.locator(".objects button:focus")).to_have_count(0)

    # By pointer: what is under it is named, and marked in the list.
    said = [(point_at(page, x / 12, y / 12), page.locator(".objects .chosen").count())
            for x in range(1, 12) for y in range(3, 10)]
    assert any("%" in words for words, _ in said), "no object is named under the pointer"
    assert all(("%" in words) == (chosen == 1) for words, chosen in said), said
    assert "Point at" in point_at(page, 0.5, 0.02), "beside the image there is nothing"
    found = pixels(page)
    page.locator(".panel input[value=image]").check()
    wait_for_other_pixels(page, found)


def check_masks(page: Page) -> None:
    """What the page reads out of COCO's text is what the server draws of the mask."""
    found = page.evaluate(COMPARE_MASKS, list(png(120, noise, 80)))
    assert len(found) >= 2 and any(0 < inside < pixels for inside, pixels, _ in found), found
    assert all(differing == 0 for _, _, differing in found), found


# For each object: pixels inside its mask, of its box, and those that differ between the two.
COMPARE_MASKS = """async photo => {
    const { runsOf } = await import("/detections.js");
    const body = new Uint8Array(photo);
    const told = await (await fetch("detect?model=detect&threshold=0.05&masks=png", {method: "POST", body})).json();
    return Promise.all(told.objects.map(async ({ mask, png, box }) => {
        const [high, wide] = mask.size, pixels = new Uint8Array(high * wide);
        let place = 0;
        runsOf(mask.counts).forEach((run, i) => { pixels.fill(i % 2, place, place += run); });
        const picture = new Image();
        picture.src = png;
        await picture.decode();
        const [width, height] = [picture.naturalWidth, picture.naturalHeight];
        const context = new OffscreenCanvas(width, height).getContext("2d");
        context.drawImage(picture, 0, 0);
        const drawn = context.getImageData(0, 0, width, height).data;
        let inside = 0, differing = 0;
        for (let x = 0; x < width; ++x)
            for (let y = 0; y < height; ++y) {
                const is = pixels[(Math.floor(box[0]) + x) * high + Math.floor(box[1]) + y];
                inside += is;
                if (drawn[4 * (y * width + x)] !== 255 * is) ++differing;
            }
        return [inside, width * height, differing];
    }));
}"""


def check_dense_beside(page: Page) -> None:
    """Two kinds of models beside each other, and from one to the next in the same panel."""
    page.locator("#compare").check()
    upload(page, png(120, noise, 80))
    expect_answers(page, 2)
    for task in ("detect", "segment"):
        page.locator(".panel select").nth(1).select_option(task)
        expect(page.locator(".panel canvas").nth(1)).to_have_attribute("aria-label", re.compile(f", {task}, answer: "), timeout=PATIENCE)
    expect(page.locator(".panel .legend").nth(1)).to_be_hidden()
    expect(page.locator(".panel input[value=heat]").nth(0)).to_be_visible()
    page.locator(".panel select").nth(1).select_option(index=1)
    expect(page.locator(".panel input[value=heat]").nth(1)).to_be_visible(timeout=PATIENCE)


def expect_sentences(page: Page, lines: int, best: int, panels: int = 1) -> None:
    expect(page.locator(".sentences > li")).to_have_count(lines * panels, timeout=PATIENCE)
    expect(page.locator(".best > li")).to_have_count(lines * best * panels)
    expect(page.locator("#status")).not_to_have_text(re.compile("Translating|^$"), timeout=PATIENCE)


def tints(page: Page) -> list[str]:
    """Backgrounds of the first sentence's words."""
    return page.evaluate("""() => [...document.querySelectorAll(".sentences > li:first-child .source span")]
        .map(one => getComputedStyle(one).backgroundColor)""")


def check_text(page: Page) -> None:
    """A translator in place of an image model: a field instead of the image, and back again."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/translate?" in request.url else None)
    upload(page, png())
    expect_answers(page)
    page.locator(".panel select").select_option("translate")
    expect(page.locator(".panel select")).to_be_focused()
    expect(page.locator("#drop")).to_be_hidden()
    for selector in ("canvas", ".views", ".slider"):
        expect(page.locator(".panel " + selector)).to_have_count(0)
    expect(page.get_by_role("textbox", name="Text")).to_be_visible()
    expect(page.locator(".languages")).to_have_text("en → de")

    # One question for a pause, however many keys were pressed before it.
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    page.locator("#text").press_sequentially("a dog runs .")
    page.clock.run_for(390)
    assert not asked, asked
    page.clock.resume()
    expect_sentences(page, 1, 3)
    assert len(asked) == 1, asked
    expect(page.locator(".source")).to_have_text("a dog runs .")
    expect(page.locator(".source")).to_have_attribute("lang", "en")
    expect(page.locator(".target").first).to_have_attribute("lang", "de")
    scores = [float(text) for text in page.locator(".score").all_inner_texts()]
    assert scores == sorted(scores, reverse=True) and scores[0] < 0, scores
    best = page.locator(".target").first.inner_text()
    expect(page.locator("#status")).to_have_text(f"translate: {best}")
    page.locator("#best").select_option("1")
    expect_sentences(page, 1, 1)
    page.locator("#text").fill("a dog runs .\n\nthe old man sees a tree")
    expect_sentences(page, 2, 1)
    check_accessible(page)

    page.locator("#text").fill("a\n" * 200)
    expect(page.locator("#status.bad")).to_contain_text("at most 128 lines", timeout=PATIENCE)
    expect(page.locator(".sentences > li")).to_have_count(0)
    page.locator("#text").fill("snow")  # and the page goes on
    expect_sentences(page, 1, 1)
    page.locator("#text").fill("")
    expect(page.locator(".sentences > li")).to_have_count(0)
    page.locator(".panel select").select_option(index=0)
    expect(page.locator("#write")).to_be_hidden()
    expect(page.locator("#drop")).to_be_visible()
    expect_answers(page)  # the image is still there


def check_words(page: Page, address: str) -> None:
    """A server that translates alone: by keyboard and by pointer, where each word looks."""
    page.goto(address)
    expect(page.locator("#text")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#about")).to_contain_text("sentence")
    page.locator("#text").fill("a dog runs near the river .")
    expect_sentences(page, 1, 3)
    plain = tints(page)
    assert len(plain) == 7 and len(set(plain)) == 1, plain
    words = page.locator(".target").first.get_by_role("option")
    count = words.count()
    assert count >= 2, f"the model wrote {count} words"
    page.locator("#compare").focus()
    page.keyboard.press("Tab")  # to the model
    page.keyboard.press("Tab")
    expect(words.first).to_be_focused()
    expect(page.locator(".looks")).to_contain_text(re.compile(r": looks at .+ \d[\d.]* %"))
    looks = tints(page)
    assert len(set(looks)) > 1, looks
    page.keyboard.press("ArrowRight")
    expect(words.nth(1)).to_be_focused()
    expect(words.nth(1)).to_have_attribute("aria-selected", "true")
    expect(words.first).to_have_attribute("aria-selected", "false")
    assert tints(page) != looks
    page.keyboard.press("End")
    expect(words.last).to_be_focused()
    check_accessible(page)
    page.keyboard.press("Tab")  # one step leaves the translation for the next one
    expect(page.locator(".target").nth(1).get_by_role("option").first).to_be_focused()
    said = []
    for i in range(count):
        words.nth(i).hover()
        said.append(page.locator(".looks").inner_text())
        assert said[-1].startswith(words.nth(i).inner_text() + ": looks at"), said
    page.mouse.move(1, 1)
    assert tints(page) == plain, "nothing is pointed at any more"
    page.locator("#compare").check()
    expect_sentences(page, 1, 3, panels=2)
    page.set_viewport_size({"width": 320, "height": 640})
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 320, f"the page is {wide} pixels wide on a screen of 320"


def check_live(page: Page) -> None:
    upload(page, png())
    expect_answers(page)
    expect(page.locator("#live td").first).to_be_visible(timeout=PATIENCE)


def check_accessible(page: Page) -> None:
    found = [v for v in Axe().run(page).response["violations"] if v["impact"] in ("serious", "critical")]
    assert not found, "; ".join(f"{v['id']}: {v['help']} ({v['nodes'][0]['html'][:200]})" for v in found)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("cait")
    parser.add_argument("models", nargs=2)
    parser.add_argument("--segmenter", required=True, help="a model that segments")
    parser.add_argument("--detector", required=True, help="a model that finds objects in any image")
    parser.add_argument("--translator", required=True, help="a model that translates from en to de")
    parser.add_argument("--vectors", required=True, help="an index, for similar images")
    parser.add_argument("--pictures", required=True, help="folder of its images, of which one is missing")
    parser.add_argument("--shots", type=Path, help="where to put a picture of every check")
    options = parser.parse_args()
    server = Server([options.cait, "serve", *options.models, "segment=" + options.segmenter, "detect=" + options.detector,
                     "translate=" + options.translator, "--index", options.vectors, "--pictures", options.pictures])
    address = server.start()
    with tempfile.NamedTemporaryFile("w") as secret:
        secret.write(TOKEN)
        secret.flush()
        guarded = Server([*server.words, "--token-file", secret.name])
        guarded_address = guarded.start()
    writer = Server([options.cait, "serve", options.translator])
    writer_address = writer.start()
    checks = {"upload": check_upload, "paste": check_paste, "drop": check_drop, "sliders": check_sliders,
              "attend": lambda page: check_drawn_as_by_attend(page, options.cait, options.models[0]),
              "compare": check_compare, "broken": check_broken, "sample": check_sample,
              "segments": check_segments, "detections": check_detections, "masks": check_masks, "beside": check_dense_beside,
              "text": check_text, "words": lambda page: check_words(page, writer_address),
              "similar": check_similar, "narrow": check_narrow,
              "token": lambda page: check_token(page, guarded_address), "live": check_live, "away": lambda page: check_server_away(page, server)}
    failed = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for theme in ("light", "dark"):
            for name, check in checks.items():
                context = browser.new_context(color_scheme=theme, viewport={"width": 1000, "height": 1100})
                page = context.new_page()
                problems: list[str] = []
                page.on("pageerror", lambda error: problems.append(str(error)))
                page.on("request", lambda request: problems.append(f"asks {request.url}")
                        if not request.url.startswith((address, guarded_address, writer_address, "data:", "blob:")) else None)
                try:
                    page.goto(address)
                    expect(page.locator(".panel select")).to_be_visible(timeout=PATIENCE)
                    check(page)
                    check_accessible(page)
                    assert not problems, "; ".join(problems)
                    print(f"ok      {theme}, {name}", flush=True)
                except Exception as problem:  # whatever it is, the others are still worth knowing
                    failed += 1
                    print(f"FAILED  {theme}, {name}: {str(problem)[:600]}", flush=True)
                if options.shots:
                    page.screenshot(path=options.shots / f"{theme}-{name}.png", full_page=True)
                context.close()
        browser.close()
    for one in (server, guarded, writer):
        one.stop()
        if one.process.returncode != 0:
            print(f"FAILED  the server ended with {one.process.returncode}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
