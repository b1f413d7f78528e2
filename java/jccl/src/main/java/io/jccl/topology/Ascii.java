package io.jccl.topology;

/** Checks texts character by character. The first use of regular expressions costs a new JVM about 5 ms of CPU time. */
final class Ascii {

    private Ascii() {}

    static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    static boolean isHex(char c) {
        return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F';
    }

    /** Returns the index of the first character from {@code begin} on that is not a decimal digit. */
    static int endOfDigits(String text, int begin) {
        int end = begin;
        while (end < text.length() && isDigit(text.charAt(end))) {
            end++;
        }
        return end;
    }

    /** Returns true if a text consists of 1 to {@code max} decimal digits. */
    static boolean isDigits(String text, int max) {
        return !text.isEmpty() && text.length() <= max && endOfDigits(text, 0) == text.length();
    }

    /** Returns true if a text consists of 1 to {@code max} decimal digits, optionally after a minus sign. */
    static boolean isInteger(String text, int max) {
        return isDigits(text.startsWith("-") ? text.substring(1) : text, max);
    }

    /**
     * Returns true if the range from {@code begin} to {@code end} (exclusive) is not empty and contains only
     * hexadecimal digits.
     */
    static boolean isHex(String text, int begin, int end) {
        for (int i = begin; i < end; i++) {
            if (!isHex(text.charAt(i))) {
                return false;
            }
        }
        return begin < end;
    }

    /** Returns true if a text is {@code 0x} followed by 1 to {@code max} hexadecimal digits. */
    static boolean isPrefixedHex(String text, int max) {
        return text.startsWith("0x") && text.length() <= 2 + max && isHex(text, 2, text.length());
    }

    /** Returns true if a text consists of 1 to {@code max} visible characters. */
    static boolean isWord(String text, int max) {
        return !text.isEmpty() && text.length() <= max && endOfVisible(text, false) == text.length();
    }

    /** Returns the text with invisible characters replaced by question marks; in lines, blanks and tabs are kept. */
    static String printable(String text, boolean line) {
        int end = endOfVisible(text, line);
        if (end == text.length()) {
            return text;
        }
        StringBuilder replaced = new StringBuilder(text.length()).append(text, 0, end);
        for (int i = end; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            replaced.append(isVisible(text.charAt(i), line) ? text.charAt(i) : '?');
        }
        return replaced.toString();
    }

    private static int endOfVisible(String text, boolean line) {
        int end = 0;
        while (end < text.length() && isVisible(text.charAt(end), line)) {
            end++;
        }
        return end;
    }

    private static boolean isVisible(char c, boolean line) {
        return c > ' ' && c <= '~' || line && (c == ' ' || c == '\t');
    }
}
