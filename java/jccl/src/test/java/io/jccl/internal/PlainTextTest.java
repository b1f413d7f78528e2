package io.jccl.internal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PlainTextTest {

    @Test
    void plainTextStaysAsItIs() {
        assertThat(PlainText.of("Verlust = ∞ 😀", 20)).isEqualTo("Verlust = ∞ 😀");
    }

    @Test
    void charactersThatForgeOrHideALineBecomeSpaces() {
        assertThat(PlainText.of("a\nb\r\nc\u2028d\u001b[31me\u202ef\ud800g", 99))
                .isEqualTo("a b  c d [31me f g");
    }

    @Test
    void longTextEndsWithDots() {
        assertThat(PlainText.of("abcdefgh", 8)).isEqualTo("abcdefgh");
        assertThat(PlainText.of("abcdefghi", 8)).isEqualTo("abcde...");
    }

    @Test
    void aCharacterOfTwoHalvesIsNotCut() {
        assertThat(PlainText.of("abcd😀😀😀", 8)).isEqualTo("abcd...");
    }
}
