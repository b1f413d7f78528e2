package io.jccl.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.spi.ContextAwareBase;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/**
 * Configures logback without a configuration file, which is faster: all messages from the level of {@code --log-level}
 * or JCCL_DEBUG on go to standard error. Logback finds this class through ServiceLoader.
 */
public final class LogConfiguration extends ContextAwareBase implements Configurator {

    /** Name of the system property that holds the level. */
    static final String LEVEL = "jccl.log.level";

    private static final List<String> LEVELS = List.of("error", "warn", "info", "debug", "trace");

    /** Called by logback. */
    public LogConfiguration() {}

    /**
     * Returns the name of a level in lower case.
     *
     * @throws IllegalArgumentException if there is no such level
     */
    static String parse(String level) {
        String name = level.toLowerCase(Locale.ROOT);
        if (!LEVELS.contains(name)) {
            throw new IllegalArgumentException("log-level=\"" + level + "\": unknown; name one of " + LEVELS);
        }
        return name;
    }

    /** Returns true if errors are to be printed with stack traces. */
    static boolean isDebug() {
        return LEVELS.indexOf(level()) >= LEVELS.indexOf("debug");
    }

    private static String level() {
        String property = System.getProperty(LEVEL);
        if (property != null) {
            return property;
        }
        String setting = System.getenv().getOrDefault("JCCL_DEBUG", "warn").toLowerCase(Locale.ROOT);
        return LEVELS.contains(setting) ? setting : "warn"; // the registry of settings reports a bad value
    }

    @Override
    public ExecutionStatus configure(LoggerContext context) {
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(context);
        encoder.setCharset(StandardCharsets.UTF_8);
        String rank = System.getenv("JCCL_RANK");
        encoder.setPattern(
                "%d{HH:mm:ss.SSS} %-5level " + (rank == null ? "" : "rank " + rank + " ") + "%logger{0}: %msg%n");
        encoder.start();
        ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
        appender.setContext(context);
        appender.setName("stderr");
        appender.setTarget("System.err");
        appender.setEncoder(encoder);
        appender.start();
        ch.qos.logback.classic.Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.toLevel(level(), Level.WARN));
        root.addAppender(appender);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }
}
