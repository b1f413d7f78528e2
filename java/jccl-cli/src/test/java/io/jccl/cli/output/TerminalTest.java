package io.jccl.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TerminalTest {

    @Test
    void coloursAreForTerminalsOnly() {
        assertThat(Terminal.colours(true, Map.of("TERM", "xterm"))).isTrue();
        assertThat(Terminal.colours(false, Map.of("TERM", "xterm"))).isFalse();
    }

    @Test
    void noColorAndDumbTerminalsTurnColoursOff() {
        assertThat(Terminal.colours(true, Map.of("NO_COLOR", "1"))).isFalse();
        assertThat(Terminal.colours(true, Map.of("NO_COLOR", ""))).isTrue();
        assertThat(Terminal.colours(true, Map.of("TERM", "dumb"))).isFalse();
    }

    @Test
    void progressIsOneLineThatDisappears() {
        assertThat(progress(true)).isEqualTo("\r\u001b[Kall_reduce 8 B (1 of 2)\r\u001b[K");
    }

    @Test
    void progressPrintsNothingWithoutATerminal() {
        assertThat(progress(false)).isEmpty();
    }

    private static String progress(boolean terminal) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Progress progress = new Progress(new PrintStream(out, true, StandardCharsets.UTF_8), terminal);
        progress.begin("all_reduce", 2);
        progress.step("8 B");
        progress.clear();
        return out.toString(StandardCharsets.UTF_8);
    }
}
