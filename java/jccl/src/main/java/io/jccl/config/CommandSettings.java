package io.jccl.config;

import static io.jccl.config.ValueTypes.text;
import static io.jccl.config.ValueTypes.word;

import java.util.List;

/** Settings that only the {@code jccl} command reads. */
public final class CommandSettings {

    private static final SettingGroup GROUP = new SettingGroup("The jccl command");

    public static final Setting<String> DEBUG = GROUP.add(
            "JCCL_DEBUG",
            "",
            word("error", "warn", "info", "debug", "trace"),
            "warn",
            "The level of the messages that the `jccl` command writes to standard error. The library itself logs"
                    + " through SLF4J, to loggers below `io.jccl`, and the application sets their levels.");

    public static final Setting<String> JAVA_OPTS = GROUP.add(
            "JCCL_JAVA_OPTS",
            "",
            text("JVM options separated by spaces"),
            "",
            "Additional options for the JVM of the `jccl` command and of the ranks that `jccl perf` starts. Programs"
                    + " that `jccl run` starts inherit only the variable, not the options.");

    private CommandSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
