package io.jccl.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.jccl.CommunicatorConfig;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.output.Json;
import io.jccl.cli.output.Terminal;
import io.jccl.cli.output.TextTable;
import io.jccl.config.LaunchSettings;
import io.jccl.config.Origin;
import io.jccl.config.Registry;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.internal.Secrets;
import java.io.IOException;
import java.math.BigInteger;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The subcommand {@code jccl env}. */
@Command(
        name = "env",
        description = {
            "Lists every setting with its current value, the source of that value, and its meaning.",
            "",
            "A setting comes from the system property JCCL_X, else from the environment variable JCCL_X, else from "
                    + "NCCL_X if the meaning is the same.",
            ""
        },
        footer = {"", "docs/environment.md lists all settings with the values that are allowed."},
        sortOptions = false)
final class EnvCommand implements Callable<Integer> {

    @Option(names = "--json", description = "print JSON")
    private boolean json;

    @Option(names = "--set", description = "only settings that are not at their default")
    private boolean onlySet;

    private EnvCommand() {}

    @Override
    public Integer call() {
        Settings settings = Settings.load(CommunicatorConfig.defaults());
        if (json) {
            System.out.println(toJson(settings, onlySet));
        } else {
            System.out.print(toText(settings, onlySet, Terminal.width().orElse(Integer.MAX_VALUE)));
            settings.warnings().forEach(warning -> System.err.println("jccl env: " + warning));
        }
        return ExitCode.SUCCESS;
    }

    static String toText(Settings settings, boolean onlySet, int width) {
        if (Registry.all().stream().noneMatch(setting -> isShown(settings, setting, onlySet))) {
            return "Every setting has its default.\n";
        }
        TextTable table = new TextTable("SETTING", "VALUE", "SOURCE", "MEANING");
        for (Setting<?> setting : Registry.all()) {
            if (isShown(settings, setting, onlySet)) {
                String value = text(settings, setting);
                table.row(
                        setting.name(),
                        value.isEmpty() ? "-" : value,
                        source(settings, setting),
                        setting.documentation());
            }
        }
        return table.wrapped(width);
    }

    static String toJson(Settings settings, boolean onlySet) {
        return Json.pretty(json -> {
            json.writeStartObject();
            json.writeArrayFieldStart("settings");
            for (Setting<?> setting : Registry.all()) {
                if (isShown(settings, setting, onlySet)) {
                    write(json, settings, setting);
                }
            }
            json.writeEndArray();
            json.writeArrayFieldStart("warnings");
            for (String warning : settings.warnings()) {
                json.writeString(warning);
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }

    private static boolean isShown(Settings settings, Setting<?> setting, boolean onlySet) {
        return !onlySet || settings.origin(setting).source() != Origin.Source.DEFAULT;
    }

    private static void write(JsonGenerator json, Settings settings, Setting<?> setting) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", setting.name());
        json.writeArrayFieldStart("aliases");
        for (String alias : setting.aliases()) {
            json.writeString(alias);
        }
        json.writeEndArray();
        json.writeStringField("group", setting.group());
        writeValue(json, settings.get(setting), text(settings, setting));
        json.writeStringField("source", source(settings, setting));
        json.writeStringField("default", setting.defaultText());
        json.writeStringField("device_default", setting.deviceDefaultText());
        json.writeStringField("documentation", setting.documentation());
        json.writeEndObject();
    }

    /** Writes a number or boolean as such, an unset value as null, and any other value in its readable form. */
    private static void writeValue(JsonGenerator json, Object value, String text) throws IOException {
        Object plain = value instanceof Optional<?> optional ? optional.orElse(null) : value;
        json.writeFieldName("value");
        if (plain == null || text.isEmpty()) {
            json.writeNull();
        } else if (plain instanceof Number number && !(plain instanceof BigInteger)) { // CPU sets are BigIntegers
            json.writeNumber(number.longValue());
        } else if (plain instanceof Boolean flag) {
            json.writeBoolean(flag);
        } else {
            json.writeString(text);
        }
    }

    private static String source(Settings settings, Setting<?> setting) {
        Origin origin = settings.origin(setting);
        boolean alias = setting.aliases().contains(origin.name());
        return origin.place() + (alias ? " " + origin.name() : "");
    }

    private static String text(Settings settings, Setting<?> setting) {
        String text = settings.text(setting);
        return setting == LaunchSettings.RENDEZVOUS ? Secrets.hidden(text) : text;
    }
}
