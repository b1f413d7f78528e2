package io.jccl.cli.output;

/** The few colours in use, as terminals understand them. */
public enum Colour {
    /** Something failed. */
    RED(31),
    /** All is well. */
    GREEN(32),
    /** A warning. */
    YELLOW(33),
    /** Less important than the rest. */
    GREY(90);

    private final int code;

    Colour(int code) {
        this.code = code;
    }

    /**
     * Wraps text in this colour.
     *
     * @param enabled whether colours are wanted; if not, the text is returned as it is
     */
    public String paint(String text, boolean enabled) {
        return enabled ? "\u001b[" + code + "m" + text + "\u001b[0m" : text;
    }
}
