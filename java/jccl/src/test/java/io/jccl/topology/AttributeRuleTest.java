package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.topology.AttributeRule.Kind;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class AttributeRuleTest {

    private static final String BUS = "[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-9a-fA-F]";
    private static final List<String> TEXTS = List.of(
            "0",
            "-1",
            "1048576",
            "2147483647",
            "12.5",
            "1e9",
            "3.25E-07",
            "0000:3b:00.0",
            "00000000:3B:1f.7",
            "0000:3b:00.0 0000:3c:00.1",
            "fffffff:ffff:ff",
            "0x10de",
            "0xffffffffffffffff",
            "000000ff,ffffffff",
            "plain text");
    private static final String CHARACTERS = "0123456789abfFgxeE:.,+- \t\u00e9";
    private static final int ROUNDS = 4000;

    private final Random random = new Random(16);

    @ParameterizedTest
    @EnumSource(Kind.class)
    void admitsExactlyTheTextsOfItsForm(Kind kind) {
        AttributeRule rule = AttributeRule.optional("name", kind);
        Pattern form = Pattern.compile(form(kind));
        for (String text : TEXTS) {
            for (int round = 0; round < ROUNDS; round++) {
                String changed = changed(text, round % 4);

                assertThat(rule.violation(changed) == null)
                        .as("%s \"%s\"", kind, changed)
                        .isEqualTo(form.matcher(changed).matches() && inRange(kind, changed));
            }
        }
    }

    @Test
    void replacesCharactersThatCannotBePrinted() {
        for (int round = 0; round < ROUNDS; round++) {
            String line = changed("plain\ttext \u0007 \ud83d\ude00 end\u007f", round % 4);

            assertThat(Ascii.printable(line, true)).isEqualTo(line.replaceAll("[^\\x20-\\x7e\\t]", "?"));
            assertThat(Ascii.printable(line, false)).isEqualTo(line.replaceAll("[^\\x21-\\x7e]", "?"));
        }
    }

    private static String form(Kind kind) {
        return switch (kind) {
            case TEXT -> "(?s).*";
            case FLAG -> "[01]";
            case COUNT, INTEGER -> "-?[0-9]{1,10}";
            case NUMBER -> "[0-9]+(\\.[0-9]*)?([eE][+-]?[0-9]{1,2})?";
            case BUS_ID -> BUS;
            case BUS_IDS -> BUS + "( " + BUS + ")*";
            case LINK_TARGET -> BUS + "|fffffff:ffff:ff";
            case HEX -> "0x[0-9a-fA-F]{1,16}";
            case MASK -> "[0-9a-fA-F]+(,[0-9a-fA-F]+)*";
        };
    }

    private static boolean inRange(Kind kind, String text) {
        return switch (kind) {
            case COUNT -> Long.parseLong(text) >= 0 && Long.parseLong(text) <= 1 << 20;
            case INTEGER -> Long.parseLong(text) >= -1 && Long.parseLong(text) <= Integer.MAX_VALUE;
            case NUMBER -> text.length() <= 32 && Double.parseDouble(text) <= 1e9;
            default -> true;
        };
    }

    /** Inserts, replaces or removes a character of a text several times. */
    private String changed(String text, int times) {
        StringBuilder changed = new StringBuilder(text);
        for (int i = 0; i < times; i++) {
            int at = random.nextInt(changed.length() + 1);
            int end = Math.min(changed.length(), at + random.nextInt(2));
            String character = String.valueOf(CHARACTERS.charAt(random.nextInt(CHARACTERS.length())));
            changed.replace(at, end, random.nextInt(3) == 0 ? "" : character);
        }
        return changed.toString();
    }
}
