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
}
