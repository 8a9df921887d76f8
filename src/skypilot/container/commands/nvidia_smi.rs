//! `nvidia-smi`, for the fake GPUs of the container.

use super::arguments::Arguments;
use super::context::{Context, Exit};
use crate::system::Gpu;

const DRIVER: &str = "550.90.07";
const CUDA: &str = "12.4";

/// `nvidia-smi`, `-L` and `--query-gpu`
pub(super) async fn nvidia_smi(context: &mut Context<'_>) -> Exit {
    let long = [
        ("list-gpus", 'L'),
        ("query-gpu", 'g'),
        ("format", 'f'),
        ("id", 'i'),
    ];
    let arguments = Arguments::parse(context.arguments, "gfi", &long);
    let gpus = context.container().system().gpus();
    if gpus.is_empty() {
        context.line("No devices were found").await?;
        return Ok(6);
    }
    let selected: Vec<(usize, &Gpu)> = match arguments.value('i').map(str::parse::<usize>) {
        None => gpus.iter().enumerate().collect(),
        Some(Ok(index)) if index < gpus.len() => vec![(index, &gpus[index])],
        Some(_) => {
            context.line("No devices were found").await?;
            return Ok(6);
        }
    };
    if arguments.has('L') {
        for (index, gpu) in selected {
            context
                .line(format!("GPU {index}: {} (UUID: {})", gpu.name, gpu.uuid))
                .await?;
        }
        return Ok(0);
    }
    if let Some(fields) = arguments.value('g') {
        let format = arguments.value('f').unwrap_or("csv");
        let fields: Vec<&str> = fields.split(',').map(str::trim).collect();
        return query(context, &selected, gpus.len(), &fields, format).await;
    }
    context.write(overview(context, &selected)).await?;
    Ok(0)
}

async fn query(
    context: &Context<'_>,
    gpus: &[(usize, &Gpu)],
    count: usize,
    fields: &[&str],
    format: &str,
) -> Exit {
    let with_units = !format.contains("nounits");
    for field in fields {
        if value(field, 0, gpus[0].1, count).is_none() {
            context
                .line(format!("Field \"{field}\" is not a valid field to query."))
                .await?;
            return Ok(2);
        }
    }
    if !format.contains("noheader") {
        let titles = fields
            .iter()
            .map(|field| match value(field, 0, gpus[0].1, count) {
                Some((_, unit)) if !unit.is_empty() => format!("{field} [{unit}]"),
                _ => (*field).to_owned(),
            });
        context.line(titles.collect::<Vec<_>>().join(", ")).await?;
    }
    for (index, gpu) in gpus {
        let values = fields.iter().filter_map(|field| {
            let (text, unit) = value(field, *index, gpu, count)?;
            Some(match with_units && !unit.is_empty() {
                true => format!("{text} {unit}"),
                false => text,
            })
        });
        context.line(values.collect::<Vec<_>>().join(", ")).await?;
    }
    Ok(0)
}

/// The value and unit of a field.
fn value(field: &str, index: usize, gpu: &Gpu, count: usize) -> Option<(String, &'static str)> {
    Some(match field {
        "name" | "gpu_name" => (gpu.name.clone(), ""),
        "uuid" | "gpu_uuid" => (gpu.uuid.clone(), ""),
        "index" => (index.to_string(), ""),
        "count" => (count.to_string(), ""),
        "driver_version" => (DRIVER.into(), ""),
        "memory.total" => (gpu.memory_mib.to_string(), "MiB"),
        "memory.free" => (gpu.memory_mib.to_string(), "MiB"),
        "memory.used" => ("0".into(), "MiB"),
        "utilization.gpu" | "utilization.memory" => ("0".into(), "%"),
        "temperature.gpu" => ("30".into(), ""),
        "power.draw" => ("50.00".into(), "W"),
        "power.limit" => ("400.00".into(), "W"),
        "compute_mode" => ("Default".into(), ""),
        "pstate" => ("P0".into(), ""),
        "persistence_mode" => ("Enabled".into(), ""),
        "mig.mode.current" => ("Disabled".into(), ""),
        "pci.bus_id" | "gpu_bus_id" => (bus_id(index), ""),
        "timestamp" => return None,
        _ => return None,
    })
}

fn bus_id(index: usize) -> String {
    format!("00000000:{:02X}:00.0", index + 1)
}

fn overview(context: &Context<'_>, gpus: &[(usize, &Gpu)]) -> String {
    let now = context.now().strftime("%a %b %e %H:%M:%S %Y");
    let rule = "-".repeat(89);
    let cells = format!("+{}+{}+{}+", "-".repeat(41), "-".repeat(24), "-".repeat(22));
    let mut text = format!("{now}\n+{rule}+\n");
    text.push_str(&format!(
        "| {:<87} |\n",
        format!(
            "NVIDIA-SMI {DRIVER}              Driver Version: {DRIVER}      CUDA Version: {CUDA}"
        )
    ));
    text.push_str(&format!("|{}|\n", &cells[1..cells.len() - 1]));
    text.push_str(&format!(
        "| {:<39} | {:<22} | {:<20} |\n",
        "GPU  Name                 Persistence-M", "Bus-Id          Disp.A", "Volatile Uncorr. ECC"
    ));
    text.push_str(&format!(
        "| {:<39} | {:>22} | {:<20} |\n",
        "Fan  Temp   Perf          Pwr:Usage/Cap", "Memory-Usage", "GPU-Util  Compute M."
    ));
    text.push_str(&format!("|{}|\n", "=".repeat(89)));
    for (index, gpu) in gpus {
        let name: String = gpu.name.chars().take(26).collect();
        text.push_str(&format!(
            "| {:<39} | {:>22} | {:>20} |\n",
            format!("{index:>3}  {name:<26}  On"),
            format!("{} Off", bus_id(*index)),
            "0"
        ));
        text.push_str(&format!(
            "| {:<39} | {:>22} | {:<20} |\n",
            "N/A   30C    P0              50W / 400W",
            format!("0MiB / {}MiB", gpu.memory_mib),
            "     0%      Default"
        ));
        text.push_str(&cells);
        text.push('\n');
    }
    text.push_str(&format!("\n+{rule}+\n| {:<87} |\n", "Processes:"));
    text.push_str(&format!("| {:<87} |\n", " No running processes found"));
    text.push_str(&format!("+{rule}+\n"));
    text
}
