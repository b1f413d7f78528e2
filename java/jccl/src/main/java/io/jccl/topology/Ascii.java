package io.jccl.topology;

/** Checks texts character by character: the first regular expressions cost a new JVM some 5 ms of processor time. */
final class Ascii {

    private Ascii() {}

    static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    static boolean isHex(char c) {
        return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F';
    }

    /** The index of the first character from {@code begin} on that is no decimal digit. */
    static int endOfDigits(String text, int begin) {
        int end = begin;
        while (end < text.length() && isDigit(text.charAt(end))) {
            end++;
        }
        return end;
    }

    /** Whether a text consists of 1 to {@code max} decimal digits. */
    static boolean isDigits(String text, int max) {
        return !text.isEmpty() && text.length() <= max && endOfDigits(text, 0) == text.length();
    }

    /** Whether a text consists of 1 to {@code max} decimal digits, with a minus sign in front or without. */
    static boolean isInteger(String text, int max) {
        return isDigits(text.startsWith("-") ? text.substring(1) : text, max);
    }

    /** Whether there is something from {@code begin} to before {@code end}, and hexadecimal digits only. */
    static boolean isHex(String text, int begin, int end) {
        for (int i = begin; i < end; i++) {
            if (!isHex(text.charAt(i))) {
                return false;
            }
        }
        return begin < end;
    }

    /** Whether a text is 1 to {@code max} hexadecimal digits behind {@code 0x}. */
    static boolean isPrefixedHex(String text, int max) {
        return text.startsWith("0x") && text.length() <= 2 + max && isHex(text, 2, text.length());
    }

    /** Whether a text consists of 1 to {@code max} visible characters. */
    static boolean isWord(String text, int max) {
        return !text.isEmpty() && text.length() <= max && endOfVisible(text, false) == text.length();
    }

    /** The text with a question mark for each character that is not visible, nor, in lines, a blank or a tab. */
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
