package io.jccl.config;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes {@code docs/environment.md} from the registry. */
final class EnvironmentPage {

    private static final String HEAD =
            """
            # Settings

            This page is generated from the settings in the package `io.jccl.config`; do not edit it. After a change there, run
            `mvn -pl java/jccl test -Dtest=EnvironmentPageTest -Djccl.update=true`.

            JCCL searches for the value of a setting in this order: the application's `CommunicatorConfig`; a system property of
            the setting's name (`-DJCCL_TIMEOUT=30s`); the `JCCL_` name in the environment; the `NCCL_` names in the
            environment, if they have the same meaning; the default. An empty value counts as not set. A bad value is an error;
            under an `NCCL_` name it is only a warning ([how NCCL's variables are read](nccl-variables.md)). An unknown `JCCL_`
            name in the environment causes a warning with the nearest known name. `jccl env` prints every setting with its value
            and the source of the value. The second column contains `NCCL_` names and former `JCCL_` names. A former name works
            like the current name, but causes a warning.

            Sizes are bytes; `K`, `M` and `G` are powers of 1024. Times are seconds, or a number with `ms`, `s`, `min` or `h`.
            """;

    private EnvironmentPage() {}

    static String render() {
        Map<String, StringBuilder> groups = new LinkedHashMap<>();
        for (Setting<?> setting : Registry.all()) {
            groups.computeIfAbsent(setting.group(), EnvironmentPage::heading).append(row(setting));
        }
        return HEAD + String.join("", groups.values());
    }

    private static StringBuilder heading(String group) {
        return new StringBuilder("\n## " + group + "\n\n| name | also | value | default | |\n|---|---|---|---|---|\n");
    }

    private static String row(Setting<?> setting) {
        List<String> cells = List.of(
                code(setting.name()),
                setting.aliases().stream().map(EnvironmentPage::code).collect(Collectors.joining(", ")),
                setting.type().expected(),
                code(setting.defaultText())
                        + (setting.hasDeviceDefault() ? "; between GPUs " + code(setting.deviceDefaultText()) : ""),
                setting.documentation());
        return "| " + String.join(" | ", cells) + " |\n";
    }

    private static String code(String text) {
        return text.isEmpty() ? "" : "`" + text + "`";
    }
}
