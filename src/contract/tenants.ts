import { z } from "zod";
import { PermissionMode, PermissionRules } from "./permission.ts";
import { SandboxBackend } from "./sandbox-backend.ts";

/** What a tenant has of its own (G-5); what is absent is the deployment's. */
export const TenantSettings = z.strictObject({
  /** Requests per minute; 0 = no limit. */
  rate_per_minute: z.number().int().min(0).optional(),
  default_provider: z.string().min(1).max(64).optional(),
  default_model: z.string().min(1).max(256).optional(),
  /** Runs are at least as strict as this, and as the deployment's mode. */
  permission_mode: PermissionMode.optional(),
  /** Where its sessions' workspaces lie, those made from now on. */
  sandbox: SandboxBackend.optional(),
  /** Rules of all its runs, beside the deployment's. */
  permission_rules: PermissionRules.optional(),
  /** Models its runs may use, out of those the deployment allows. */
  allowed_models: z.array(z.string().min(1).max(256)).max(256).optional(),
});
export type TenantSettings = z.infer<typeof TenantSettings>;

/** A tenant as a request's token names it. */
export type FoundTenant = {
  readonly tenant: string;
  readonly ratePerMinute?: number;
  readonly settings?: TenantSettings;
};

/** Finds a tenant by its token. `undefined`: no tenant has it. Anonymous deployments have no tokens at all. */
export type TenantsPort = {
  /** Whether any token exists; if not, requests need none (on loopback hosts only, unless configured otherwise). */
  readonly required: () => Promise<boolean>;
  find(token: string): Promise<FoundTenant | undefined>;
};
