package io.jccl.config;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.LoggerFactory;
import org.slf4j.helpers.NOPLoggerFactory;

/**
 * Logs each warning once in a process, because all its ranks and communicators would repeat it. If SLF4J has no
 * provider and would drop every record, the warnings go to standard error.
 */
public final class LoggedOnce {

    private static final Set<String> WARNINGS = ConcurrentHashMap.newKeySet();

    /** The classes of slf4j-nop, versions 2 and 1.7. An application that has one of them wants no log output. */
    private static final List<String> SILENT =
            List.of("org.slf4j.nop.NOPServiceProvider", "org.slf4j.impl.StaticLoggerBinder");

    private LoggedOnce() {}

    /** Logs a warning, unless this process has logged it before. */
    public static void warn(Class<?> logger, String warning) {
        if (WARNINGS.add(warning)) {
            LoggerFactory.getLogger(logger).warn(warning); // most processes have no warnings, and then start no logging
            if (LoggerFactory.getILoggerFactory() instanceof NOPLoggerFactory && !IsSilenced.BY_CHOICE) {
                System.err.println("jccl: warning: " + warning);
            }
        }
    }

    /** Loaded only when SLF4J drops a warning. */
    private static final class IsSilenced {
        static final boolean BY_CHOICE = SILENT.stream().anyMatch(IsSilenced::isThere);

        private static boolean isThere(String name) {
            try {
                Class.forName(name, false, LoggerFactory.class.getClassLoader());
                return true;
            } catch (ClassNotFoundException e) {
                return false;
            }
        }
    }
}
