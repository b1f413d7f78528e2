package io.jccl.config;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.LoggerFactory;
import org.slf4j.helpers.NOPLoggerFactory;

/**
 * Warnings about what all ranks and communicators of a process find alike: each is logged once. Where SLF4J has no provider,
 * which drops every record, they go to standard error.
 */
public final class LoggedOnce {

    private static final Set<String> WARNINGS = ConcurrentHashMap.newKeySet();

    /** The classes of slf4j-nop, versions 2 and 1.7: an application that has one of them wants silence. */
    private static final List<String> SILENT =
            List.of("org.slf4j.nop.NOPServiceProvider", "org.slf4j.impl.StaticLoggerBinder");

    private LoggedOnce() {}

    /** Logs a warning unless this process has logged it before. */
    public static void warn(Class<?> logger, String warning) {
        if (WARNINGS.add(warning)) {
            LoggerFactory.getLogger(logger)
                    .warn(warning); // most processes have none, and need no logging to be started
            if (LoggerFactory.getILoggerFactory() instanceof NOPLoggerFactory && !IsSilenced.BY_CHOICE) {
                System.err.println("jccl: warning: " + warning);
            }
        }
    }

    /** Loaded with the first warning that would be lost. */
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
