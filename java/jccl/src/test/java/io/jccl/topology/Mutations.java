package io.jccl.topology;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Random;

/** Damages descriptions: bytes changed, spans cut out, doubled or replaced by nasty tokens. */
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

    private final Random random;

    Mutations(long seed) {
        this.random = new Random(seed);
    }

    byte[] mutate(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int count = 1 + random.nextInt(3); count > 0; count--) {
            bytes = once(bytes);
        }
        return bytes;
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
