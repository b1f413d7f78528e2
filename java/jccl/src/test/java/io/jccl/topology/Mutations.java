package io.jccl.topology;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Damages host descriptions at random. Changes bytes, removes or doubles spans, or replaces them by tokens with a
 * meaning in XML; or makes only mistakes that a well-formed file can contain.
 */
final class Mutations {

    private static final String[] TOKENS = {
        "\"",
        "<",
        ">",
        "/>",
        "&",
        "&amp;",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?x?>",
        "<!DOCTYPE s>",
        "&#0;",
        "&#65;",
        "-1",
        "99999999999999999999",
        "0x",
        "NaN",
        "<pci ",
        "<cpu numaid=\"0\">",
        "</cpu>",
        "xmlns:a=\"b\" a:",
        "\u00e9"
    };

    private final SplittableRandom random;

    Mutations(long seed) {
        this.random = new SplittableRandom(seed);
    }

    byte[] mutate(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        boolean gentle = random.nextBoolean();
        for (int count = 1 + random.nextInt(3); count > 0; count--) {
            bytes = gentle ? gently(bytes) : once(bytes);
        }
        return bytes;
    }

    /**
     * Makes a mistake that a well-formed file can contain: another digit, or a line that is missing, doubled or moved.
     */
    private byte[] gently(byte[] bytes) {
        List<String> lines = new ArrayList<>(
                new String(bytes, StandardCharsets.UTF_8).lines().toList());
        int at = random.nextInt(lines.size());
        switch (lines.size() < 3 ? 0 : random.nextInt(4)) {
            case 0 -> lines.set(at, anotherDigit(lines.get(at)));
            case 1 -> lines.remove(at);
            case 2 -> lines.add(at, lines.get(at));
            default -> Collections.swap(lines, at, random.nextInt(lines.size()));
        }
        return String.join("\n", lines).getBytes(StandardCharsets.UTF_8);
    }

    private String anotherDigit(String line) {
        int start = random.nextInt(line.length() + 1);
        for (int i = start; i < line.length(); i++) {
            if (Character.isDigit(line.charAt(i))) {
                return line.substring(0, i) + random.nextInt(10) + line.substring(i + 1);
            }
        }
        return line;
    }

    private byte[] once(byte[] bytes) {
        int at = random.nextInt(bytes.length);
        int end = Math.min(bytes.length, at + random.nextInt(40));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(bytes, 0, at);
        switch (random.nextInt(5)) {
            case 0 -> {
                out.write(random.nextInt(256));
                end = Math.min(bytes.length, at + 1);
            }
            case 1 -> out.writeBytes(TOKENS[random.nextInt(TOKENS.length)].getBytes(StandardCharsets.UTF_8));
            case 2 -> {
                out.write(bytes, at, end - at);
                end = at;
            }
            case 3 -> {
                out.writeBytes(Integer.toString(random.nextInt(12)).getBytes(StandardCharsets.UTF_8));
                end = Math.min(bytes.length, at + 1);
            }
            default -> {}
        }
        out.write(bytes, end, bytes.length - end);
        return out.toByteArray();
    }
}
