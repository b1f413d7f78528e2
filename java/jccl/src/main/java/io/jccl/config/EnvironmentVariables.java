package io.jccl.config;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * The environment variables of this process, read in the same way on every rank. Java decodes values by the locale,
 * which may differ between hosts: a secret with an umlaut would become different texts. This class therefore decodes
 * the values of JCCL's and NCCL's variables as UTF-8, whatever the locale.
 */
public final class EnvironmentVariables {

    private static final int LAST_ASCII = 0x7f;

    private EnvironmentVariables() {}

    /** Returns all variables. If the kernel does not show their bytes, returns them as Java decodes them. */
    public static Map<String, String> all() {
        Map<String, String> decoded = System.getenv();
        if (decoded.values().stream().allMatch(EnvironmentVariables::isAscii)) {
            return decoded;
        }
        try {
            return decoded(decoded, Files.readAllBytes(Path.of("/proc/self/environ")));
        } catch (IOException e) {
            return decoded; // not Linux, or the process is not dumpable, so that the kernel hides the file
        }
    }

    /**
     * Returns the variables, with the values of JCCL's and NCCL's decoded from their bytes.
     *
     * @param decoded the variables as Java decodes them
     * @param raw the bytes of the variables, each followed by a zero
     */
    static Map<String, String> decoded(Map<String, String> decoded, byte[] raw) {
        Map<String, String> all = new HashMap<>(decoded);
        for (String entry : new String(raw, StandardCharsets.UTF_8).split("\0")) {
            int equals = entry.indexOf('=');
            String name = equals < 0 ? "" : entry.substring(0, equals);
            boolean ours = name.startsWith("JCCL_") || name.startsWith("NCCL_");
            if (ours && all.containsKey(name) && !isAscii(all.get(name))) {
                all.put(name, entry.substring(equals + 1));
            }
        }
        return all;
    }

    private static boolean isAscii(String value) {
        return value.chars().allMatch(c -> c <= LAST_ASCII);
    }
}
