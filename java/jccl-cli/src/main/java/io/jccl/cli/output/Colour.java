package io.jccl.cli.output;

/** The colours that the command uses, with their terminal codes. */
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
     * @param enabled true to add the colour, false to return the text unchanged
     */
    public String paint(String text, boolean enabled) {
        return enabled ? "\u001b[" + code + "m" + text + "\u001b[0m" : text;
    }
}
