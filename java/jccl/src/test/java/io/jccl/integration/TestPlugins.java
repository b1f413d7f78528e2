package io.jccl.integration;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import java.nio.file.Path;

/** Network plug-ins for tests ({@code native/test/plugin/socket_plugin.cc}), one for each version of the interface. */
final class TestPlugins {

    static final int OLDEST = 6;
    static final int NEWEST = 12;
    static final String SETTING = "JCCL_NET_PLUGIN";

    private TestPlugins() {}

    /** Returns the library of a version; skips the test if none was built, as in checks of packaged jars. */
    static String library(int version) {
        String folder = System.getProperty("jccl.test.plugins");
        assumeTrue(folder != null, "-Djccl.test.plugins does not say where the tests' plug-ins are");
        return Path.of(folder, "libjccl_test_plugin_v" + version + ".so").toString();
    }

    /** Returns the setting for a version as an environment variable. */
    static String environment(int version) {
        return SETTING + "=" + library(version);
    }

    /** Returns a configuration for a transport; {@code draw} selects the version of a plug-in. */
    static CommunicatorConfig.Builder config(TransportKind transport, int draw) {
        CommunicatorConfig.Builder config = LocalRanks.config().transport(transport);
        return transport == TransportKind.PLUGIN
                ? config.setting(SETTING, library(OLDEST + draw % (NEWEST - OLDEST + 1)))
                : config;
    }
}
