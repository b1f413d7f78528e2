package io.jccl.integration;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import java.nio.file.Path;

/** The network plug-ins of the tests' own ({@code native/test/plugin/socket_plugin.cc}), one for each version. */
final class TestPlugins {

    static final int OLDEST = 6;
    static final int NEWEST = 12;
    static final String SETTING = "JCCL_NET_PLUGIN";

    private TestPlugins() {}

    /** The library of a version; skips the test where there is none, as in checks of packaged jars. */
    static String library(int version) {
        String folder = System.getProperty("jccl.test.plugins");
        assumeTrue(folder != null, "-Djccl.test.plugins does not say where the tests' plug-ins are");
        return Path.of(folder, "libjccl_test_plugin_v" + version + ".so").toString();
    }

    /** The setting with a version, as an environment has it. */
    static String environment(int version) {
        return SETTING + "=" + library(version);
    }

    /** Settings for a transport; a plug-in is of a version that depends on {@code draw}. */
    static CommunicatorConfig.Builder config(TransportKind transport, int draw) {
        CommunicatorConfig.Builder config = LocalRanks.config().transport(transport);
        return transport == TransportKind.PLUGIN
                ? config.setting(SETTING, library(OLDEST + draw % (NEWEST - OLDEST + 1)))
                : config;
    }
}
