"""The exam questions of chapter 13, answered again by other ways than the library's."""
