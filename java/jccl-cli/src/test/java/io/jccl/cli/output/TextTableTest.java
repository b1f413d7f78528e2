package io.jccl.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TextTableTest {

    @Test
    void columnsAreAsWideAsTheirWidestCell() {
        TextTable table = new TextTable("NAME", "VALUE", "MEANING")
                .row("a", "12345678", "first")
                .row("long name", "1");
        assertThat(table)
                .hasToString(
                        """
                        NAME       VALUE     MEANING
                        a          12345678  first
                        long name  1
                        """);
    }

    private static final TextTable LONG =
            new TextTable("NAME", "MEANING").row("a", "a sentence of several words that is longer than the width");

    @Test
    void lastColumnIsContinuedBelowItself() {
        assertThat(LONG.wrapped(46))
                .isEqualTo(
                        """
                        NAME  MEANING
                        a     a sentence of several words that is
                              longer than the width
                        """);
    }

    @Test
    void lastColumnIsBelowItsRowIfLittleSpaceIsLeft() {
        assertThat(LONG.wrapped(45))
                .isEqualTo(
                        """
                        NAME
                              MEANING
                        a
                              a sentence of several words that is
                              longer than the width
                        """);
    }

    @Test
    void wordThatIsLongerThanTheWidthHasALineOfItsOwn() {
        assertThat(new TextTable("N", "M")
                        .row("a", "b " + "c".repeat(50) + " d")
                        .wrapped(44))
                .isEqualTo("N  M\na  b\n   " + "c".repeat(50) + "\n   d\n");
    }
}
