"""The exam questions of chapter 14, answered again by other ways."""
