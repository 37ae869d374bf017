"""The page of `cait serve` in a real browser: Debian's Chromium, driven by Playwright.
Usage: page_checks.py CAIT MODEL MODEL --vectors FILE --pictures FOLDER [--shots FOLDER]. Says what failed and exits
with 1, with 77 where the browser or Playwright is missing."""
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


def png(side: int = 96, colour: Callable[[int, int], list[int]] | None = None) -> bytes:
    """By a function of x and y, or a light square on a dark ground."""
    colour = colour or (lambda x, y: [220, 200, 60] if side // 4 < x < side // 2 < y else [30, 50, 80])
    rows = b"".join(b"\0" + b"".join(bytes(colour(x, y)) for x in range(side)) for y in range(side))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
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
    parser.add_argument("--vectors", required=True, help="an index, for similar images")
    parser.add_argument("--pictures", required=True, help="folder of its images, of which one is missing")
    parser.add_argument("--shots", type=Path, help="where to put a picture of every check")
    options = parser.parse_args()
    server = Server([options.cait, "serve", *options.models,
                     "--index", options.vectors, "--pictures", options.pictures])
    address = server.start()
    with tempfile.NamedTemporaryFile("w") as secret:
        secret.write(TOKEN)
        secret.flush()
        guarded = Server([*server.words, "--token-file", secret.name])
        guarded_address = guarded.start()
    checks = {"upload": check_upload, "paste": check_paste, "drop": check_drop, "sliders": check_sliders,
              "attend": lambda page: check_drawn_as_by_attend(page, options.cait, options.models[0]),
              "compare": check_compare, "broken": check_broken, "sample": check_sample,
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
                        if not request.url.startswith((address, guarded_address, "data:", "blob:")) else None)
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
    for one in (server, guarded):
        one.stop()
        if one.process.returncode != 0:
            print(f"FAILED  the server ended with {one.process.returncode}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
