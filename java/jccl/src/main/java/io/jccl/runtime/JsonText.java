package io.jccl.runtime;

/** Writes the part of JSON that dumps need. */
final class JsonText {

    private final StringBuilder text = new StringBuilder(4096);
    private boolean follows; // true if the next value needs a comma before it

    /** Begins an object. */
    JsonText object() {
        return open('{');
    }

    /** Begins an array as the value of a field. */
    JsonText array(String name) {
        name(name);
        return open('[');
    }

    /** Begins an object as the value of a field. */
    JsonText object(String name) {
        name(name);
        return open('{');
    }

    private JsonText open(char bracket) {
        separate();
        text.append(bracket);
        follows = false;
        return this;
    }

    /** Begins a new line. */
    JsonText line() {
        if (follows) {
            text.append(',');
            follows = false;
        }
        text.append('\n');
        return this;
    }

    /** Ends an object. */
    JsonText endObject() {
        return close('}');
    }

    /** Ends an object, with the bracket on a new line. */
    JsonText endObjectOnItsLine() {
        text.append('\n');
        return close('}');
    }

    /** Ends an array. */
    JsonText endArray() {
        return close(']');
    }

    private JsonText close(char bracket) {
        text.append(bracket);
        follows = true;
        return this;
    }

    JsonText field(String name, String value) {
        name(name);
        quote(value);
        follows = true;
        return this;
    }

    JsonText field(String name, long value) {
        name(name);
        text.append(value);
        follows = true;
        return this;
    }

    JsonText field(String name, boolean value) {
        name(name);
        text.append(value);
        follows = true;
        return this;
    }

    JsonText value(long value) {
        separate();
        text.append(value);
        follows = true;
        return this;
    }

    private void name(String name) {
        separate();
        quote(name);
        text.append(':');
        follows = false;
    }

    private void separate() {
        if (follows) {
            text.append(',');
        }
    }

    private void quote(String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char one = value.charAt(i);
            switch (one) {
                case '"' -> text.append("\\\"");
                case '\\' -> text.append("\\\\");
                case '\n' -> text.append("\\n");
                case '\t' -> text.append("\\t");
                default -> {
                    if (one < ' ') {
                        text.append(String.format("\\u%04x", (int) one));
                    } else {
                        text.append(one);
                    }
                }
            }
        }
        text.append('"');
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
