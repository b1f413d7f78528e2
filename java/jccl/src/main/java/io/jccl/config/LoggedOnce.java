package io.jccl.config;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.LoggerFactory;

/** Warnings about what all ranks and communicators of a process find alike: each is logged once. */
public final class LoggedOnce {

    private static final Set<String> WARNINGS = ConcurrentHashMap.newKeySet();

    private LoggedOnce() {}

    /** Logs a warning unless this process has logged it before. */
    public static void warn(Class<?> logger, String warning) {
        if (WARNINGS.add(warning)) {
            LoggerFactory.getLogger(logger)
                    .warn(warning); // most processes have none, and need no logging to be started
        }
    }
}
