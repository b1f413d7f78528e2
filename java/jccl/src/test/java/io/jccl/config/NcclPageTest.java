package io.jccl.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Checks, and updates, {@code docs/nccl-variables.md}, which is rendered from the settings and {@code
 * nccl-variables.txt}.
 */
class NcclPageTest {

    private static final Path PAGE = Path.of("../../docs/nccl-variables.md");

    private static final String HEAD =
            """
            # NCCL's variables

            This page lists what JCCL does with every environment variable that NCCL 2.30 documents, and with others that public job
            scripts set.
            A test generates it from the settings and from its own list of variables; do not edit it. After a change there, run
            `mvn -pl java/jccl test -Dtest=NcclPageTest -Djccl.update=true`.

            JCCL uses a variable of NCCL if a setting has the same meaning and no `JCCL_` name of this setting is set. No value of such a
            variable ends a job:

            * JCCL accepts what NCCL accepts: decimal, hexadecimal (`0x10`) and octal (`010`) numbers up to the first other character; any
              number but 0 for "yes"; -1, -2 and -2147483648 for "not set"; names in upper or lower case. An empty value is not set.
              In addition, it accepts what the `JCCL_` name accepts, such as `4M` and `true`.
            * A number outside the range of the setting becomes the nearest number of the range. JCCL ignores a value that it cannot use, and
              the parts of a list that it does not know. A warning, logged once, names what it uses instead.
            * Under a `JCCL_` name the same value is an error.
            * A file that is missing, cannot be read or written, or is of the wrong kind causes a warning. In `NCCL_TOPO_FILE`, `rank` and
              `host` elements are ignored, and GPUs that no rank uses are dropped. A `NCCL_GRAPH_FILE` that does not fit the GPUs, or
              that differs between ranks, is ignored.
            * `NCCL_SOCKET_IFNAME` and `NCCL_SOCKET_FAMILY` are ignored if no address of the host matches them.
            * `NCCL_ALGO` and `NCCL_PROTO` are ignored for a collective for which they leave no algorithm or protocol.
            * If `NCCL_MIN_NCHANNELS` is above `NCCL_MAX_NCHANNELS`, the maximum is used. If several names stand for one setting, JCCL uses
              the first usable one in the table of [settings](environment.md).
            * JCCL reads neither `NCCL_CONF_FILE` nor `~/.nccl.conf` nor `/etc/nccl.conf`. Set their variables in the environment.
            * JCCL ignores other variables of NCCL silently, as NCCL does.

            | variable | NCCL's default | in JCCL |
            |---|---|---|
            """;

    private static String render() {
        return NcclVariable.all().stream().map(NcclPageTest::row).collect(Collectors.joining("", HEAD, ""));
    }

    private static String row(NcclVariable variable) {
        String use = variable.reason().isEmpty() ? uses(variable.name()) : "ignored: " + variable.reason();
        String text = variable.defaultText().replace("|", "\\|");
        return "| `" + variable.name() + "` | " + (text.isEmpty() ? "" : "`" + text + "`") + " | " + use + " |\n";
    }

    private static String uses(String name) {
        List<String> uses = new ArrayList<>();
        for (Setting<?> setting : Registry.all()) {
            if (setting.ncclNames().contains(name)) {
                uses.add("`" + setting.name() + "`: " + setting.type().expected());
            }
        }
        return name.equals(NcclNet.NAME)
                ? "`Socket`: `JCCL_IB_DISABLE=1` and `JCCL_NET_PLUGIN=none`; `IB`: `JCCL_NET_PLUGIN=none`; other names choose nothing"
                : String.join("; ", uses);
    }

    @Test
    void thePageEqualsTheRenderedVariables() throws IOException {
        if (Boolean.getBoolean("jccl.update")) {
            Files.writeString(PAGE, render());
        }
        assertThat(Files.readString(PAGE))
                .as("docs/nccl-variables.md; update it with -Djccl.update=true")
                .isEqualTo(render());
    }
}
