package io.jccl.cli;

import io.jccl.internal.Causes;
import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** The option {@code --log-level} of a command and its subcommands. */
public final class LogLevelOption {

    @Option(
            names = "--log-level",
            paramLabel = "LEVEL",
            scope = ScopeType.INHERIT,
            converter = LogLevel.class,
            description = "least level of messages on standard error: error, warn, info, debug or trace "
                    + "(default: JCCL_DEBUG, else warn)")
    private void setLogLevel(String level) {
        if (level != null) { // null when picocli resets options that are not given
            System.setProperty(LogConfiguration.LEVEL, level);
        }
    }

    /** Reads the name of a level. */
    private static final class LogLevel implements CommandLine.ITypeConverter<String> {
        @Override
        public String convert(String level) {
            try {
                return LogConfiguration.parse(level);
            } catch (IllegalArgumentException e) {
                throw new CommandLine.TypeConversionException(Causes.describe(e));
            }
        }
    }
}
