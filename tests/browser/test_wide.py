"""What is wider than a phone says so at its edge."""

from browsing import Visit

PHONE = {"width": 390, "height": 844}


def test_the_shadow_is_seen_until_the_end(visit: Visit) -> None:
    page = visit("chapters/02_softmax.html", viewport=PHONE)
    box = page.locator(".cell_input pre").first
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    assert place is not None
    # A strip at the right edge, in the padding at the top where no letter stands.
    strip = {"x": place["x"] + place["width"] - 12, "y": place["y"] + 2, "width": 10, "height": 6}
    goes_on = page.screenshot(clip=strip)
    box.evaluate("(e) => { e.scrollLeft = e.scrollWidth; }")
    assert page.screenshot(clip=strip) != goes_on
