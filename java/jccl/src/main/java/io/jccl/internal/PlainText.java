package io.jccl.internal;

/** Makes text of unknown origin safe for messages and log lines. */
public final class PlainText {

    private PlainText() {}

    /**
     * Returns a text as one line: control characters, line separators and invisible formatting characters, which could
     * forge a line of a log or hide a part of one, become spaces. A text that is too long ends with "...".
     *
     * @param maxChars the maximum length of the result, at least 3
     */
    public static String of(String text, int maxChars) {
        StringBuilder plain = new StringBuilder(Math.min(text.length(), maxChars));
        for (int i = 0; i < text.length() && plain.length() <= maxChars; ) {
            int character = text.codePointAt(i);
            i += Character.charCount(character);
            plain.appendCodePoint(isPlain(character) ? character : ' ');
        }
        String line = plain.toString().strip();
        return line.length() <= maxChars ? line : cut(line, maxChars - 3) + "...";
    }

    /** Cuts a text, but not between the two halves of a character. */
    private static String cut(String text, int length) {
        return text.substring(0, Character.isHighSurrogate(text.charAt(length - 1)) ? length - 1 : length);
    }

    private static boolean isPlain(int character) {
        return switch (Character.getType(character)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE -> false;
            default -> true;
        };
    }
}
